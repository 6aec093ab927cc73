import type { Reporter, TestModule } from "vitest/node"

/**
 * Ends a run with one plain line, "tests: 123 passed, 0 failed", for people and programs that read only that.
 *
 * A file that does not load and an error outside every test count as one failure each: a run that fails never says
 * "0 failed".
 */
export default class Counts implements Reporter {
  readonly label: string
  line = ""

  constructor(options: { readonly label?: string } = {}) {
    this.label = options.label ?? "tests"
    // Other reporters print after the end of the run; the exit comes after all of them.
    process.once("exit", () => process.stdout.write(this.line))
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") counts.passed++
        else if (state === "failed") failedHere++
        else counts.skipped++
      }
      counts.failed += failedHere === 0 && module.state() === "failed" ? 1 : failedHere
    }
    const skipped = counts.skipped === 0 ? "" : `, ${counts.skipped} skipped`
    this.line = `${this.label}: ${counts.passed} passed, ${counts.failed} failed${skipped}\n`
  }
}
