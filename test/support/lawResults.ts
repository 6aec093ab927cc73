import * as fs from "node:fs"
import * as path from "node:path"
import type { Reporter, TestModule } from "vitest/node"
import type { Explored } from "./laws.js"

/** Where the last run of each file with explored scenarios has left what they came to. `laws.mjs` reads it. */
const file = "node_modules/.cache/quiesce/laws.json"

type Results = Record<string, ReadonlyArray<Explored>>

const read = (): Results => {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"))
  } catch {
    return {}
  }
}

/** Keeps what explored scenarios came to, so that docs/laws.md can be checked without running them a second time. */
export default class LawResults implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const results = read()
    let changed = false
    for (const module of modules) {
      const tests = [...module.children.allTests()]
      const explored = tests.flatMap((test) => test.meta().explored ?? [])
      // Only whole files: a run of some tests would make the others look removed.
      if (explored.length === 0 || explored.length < tests.length) continue
      results[path.relative(process.cwd(), module.moduleId).split(path.sep).join("/")] = explored
      changed = true
    }
    if (!changed) return
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, JSON.stringify(results))
  }
}
