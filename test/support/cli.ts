// The command line is a program: users cannot import it. Its tests run what was built, or reach inside through here.
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Effect } from "effect"
import { Abort } from "quiesce"
import { Output } from "../../src/cli/output.js"
import { program } from "../../src/cli/program.js"
import { waitUntil } from "./processes.js"

export * as Args from "../../src/cli/args.js"
export { BadInput } from "../../src/cli/badInput.js"
export * as Display from "../../src/cli/display.js"
export { embeddedPlan } from "../../src/cli/embeddedPlan.js"
export { findSyntaxProblem } from "../../src/cli/jsonSyntax.js"
export * as Permission from "../../src/cli/permission.js"
export * as Plan from "../../src/cli/plan.js"
export { type Outcome, Recording } from "../../src/cli/recording.js"
export type { Event } from "../../src/cli/runAgent.js"
export { table } from "../../src/cli/table.js"
export * as Terminal from "../../src/cli/terminal.js"
export * as Text from "../../src/cli/text.js"
export { makeToolkit } from "../../src/cli/tools.js"
export { Output }

/** What a stream was given. */
export class Written {
  text = ""
  readonly columns?: number
  readonly rows?: number
  readonly isTTY?: boolean

  constructor(terminal?: { readonly columns: number; readonly rows: number }) {
    if (terminal !== undefined) Object.assign(this, terminal, { isTTY: true })
  }
  write(text: string): void {
    this.text += text
  }
  on(): void {}
}

/** Runs the program in this process: for all that needs no signal. */
export const runHere = (...args: ReadonlyArray<string>) => {
  const stdout = new Written()
  const stderr = new Written()
  return Effect.map(
    Effect.promise(() => Abort.toPromise(program(new Output(stdout, stderr), args))),
    (exitCode) => ({ exitCode, stdout: stdout.text, stderr: stderr.text })
  )
}

/** The built command in a process of its own. Its temporary folder is one of its own, too. */
export class Command {
  readonly folder: string
  private readonly child: ChildProcess
  stdout = ""
  stderr = ""
  private exit: { readonly code: number | null; readonly signal: string | null } | undefined

  constructor(folder: string, args: ReadonlyArray<string>, main = path.resolve("dist/cli/main.js")) {
    this.folder = folder
    fs.mkdirSync(this.temporary, { recursive: true })
    this.child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: { ...process.env, TMPDIR: this.temporary },
      stdio: ["ignore", "pipe", "pipe"]
    })
    this.child.stdout?.on("data", (chunk) => {
      this.stdout += chunk
    })
    this.child.stderr?.on("data", (chunk) => {
      this.stderr += chunk
    })
    this.child.once("close", (code, signal) => {
      this.exit = { code, signal }
    })
  }

  get temporary(): string {
    return path.join(this.folder, "tmp")
  }

  get left(): ReadonlyArray<string> {
    return fs.readdirSync(this.temporary)
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Reads no more, as `head` does when it has seen enough. */
  closeOutput(): void {
    this.child.stdout?.destroy()
  }

  /** Waits for the end of the process and of its output. */
  get ended(): Effect.Effect<{ readonly code: number | null; readonly signal: string | null }> {
    return Effect.flatMap(
      waitUntil(() => this.exit !== undefined, 20_000),
      () => Effect.sync(() => this.exit ?? { code: null, signal: null })
    )
  }

  /** Waits until the process has written something that matches. */
  wrote(stream: "stdout" | "stderr", pattern: RegExp): Effect.Effect<void> {
    return waitUntil(() => pattern.test(this[stream]) || this.exit !== undefined, 20_000)
  }
}

/** Every process that was given `text` as part of its environment, whatever group it is in. On Linux. */
export const withEnvironment = (text: string): ReadonlyArray<number> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(text) ? [Number(pid)] : []
      } catch {
        return []
      }
    })
