// What becomes of a command whose session, or whose output, is not what it expects.
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "../support/built.js"
import { runHere } from "../support/cli.js"
import { makeFolder } from "../support/folder.js"

vi.setConfig({ testTimeout: 60_000 })

beforeAll(build, 120_000)

const main = path.resolve("dist/cli/main.js")

const write = (name: string, text: string) => ({ tool: "write_file", parameters: { path: name, text } })

/** A folder with plans in it. */
const makePlans = (plans: { readonly [name: string]: ReadonlyArray<object> }) =>
  Effect.map(makeFolder, (folder) => {
    for (const [name, steps] of Object.entries(plans)) {
      fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify({ steps }))
    }
    return folder
  })

/** Runs the command in a shell, which sets what a program cannot set for itself. */
const inShell = (folder: string, script: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn("bash", ["-c", script, process.execPath, main, ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stderr = ""
    child.stderr.on("data", (text) => {
      stderr += text
    })
    child.stdout.resume()
    const [code] = await once(child, "close")
    return { code, stderr }
  })

describe("--session", () => {
  it.scopedLive("is not gone on with by another plan, which would begin in its middle", () =>
    Effect.gen(function* () {
      const first = { text: "First.", calls: [write("a", "1")] }
      const folder = yield* makePlans({
        plan: [first, { text: "Second." }],
        longer: [first, { text: "Second." }, { calls: [write("b", "2")] }, { text: "Third." }],
        text: [{ ...first, text: "Other." }, { text: "Second." }],
        call: [{ ...first, calls: [write("a", "2")] }, { text: "Second." }],
        shorter: [first]
      })
      const session = path.join(folder, "session.jsonl")
      const run = (plan: string) =>
        runHere("run", path.join(folder, `${plan}.json`), "--workspace", folder, "--session", session)
      assert.strictEqual((yield* run("plan")).exitCode, 0)
      const refusals: ReadonlyArray<readonly [plan: string, what: string]> = [
        ["text", "its answer 1 is not step 1 of this plan"],
        ["call", "its answer 1 is not step 1 of this plan"],
        ["shorter", "its answer 2 comes after the end of this plan"]
      ]
      for (const [plan, what] of refusals) {
        const { exitCode, stderr } = yield* run(plan)
        assert.strictEqual(exitCode, 2, plan)
        assert.include(stderr, `quiesce: --session ${session}: it was started with something else: ${what}: expected`)
      }
      // What has not been said yet may be another.
      assert.strictEqual((yield* run("longer")).exitCode, 0)
      assert.strictEqual(fs.readFileSync(path.join(folder, "b"), "utf8"), "2")
    })
  )

  it.scopedLive.skipIf(process.platform === "win32")(
    "that cannot be written any more ends the command with 1, whatever was written of it",
    () =>
      Effect.gen(function* () {
        const folder = yield* makePlans({ plan: [{ calls: [write("a", "1")] }, { text: "Done." }] })
        const sizeOf = () => fs.statSync(path.join(folder, "whole.jsonl")).size
        const run = (blocks: number, name: string) =>
          inShell(folder, `ulimit -f ${blocks}; exec "$0" "$@"`, "run", "plan.json", "--session", `${name}.jsonl`)
        assert.deepStrictEqual(yield* run(1000, "whole"), { code: 0, stderr: "" })
        for (let blocks = 1; blocks * 1024 < sizeOf(); blocks++) {
          const { code, stderr } = yield* run(blocks, `cut-${blocks}`)
          assert.strictEqual(code, 1, stderr)
          assert.include(
            stderr,
            `quiesce: --session cut-${blocks}.jsonl: not all of what happened could be written to it`
          )
        }
      })
  )
})

describe("the standard output", () => {
  it.scopedLive.skipIf(!fs.existsSync("/dev/full"))("on a full disk ends the command with 1, and says so once", () =>
    Effect.gen(function* () {
      const folder = yield* makePlans({ plan: [{ calls: [write("a", "1")] }, { text: "Done." }] })
      for (const more of [[], ["--json"]]) {
        const { code, stderr } = yield* inShell(folder, `exec "$0" "$@" > /dev/full`, "run", "plan.json", ...more)
        assert.strictEqual(code, 1, stderr)
        assert.strictEqual(stderr.split("the output could not be written as a whole").length, 2, stderr)
        assert.include(stderr, "no space left on device")
      }
      assert.strictEqual(fs.readFileSync(path.join(folder, "a"), "utf8"), "1")
      assert.strictEqual(
        (yield* inShell(folder, `"$0" "$@" | true; exit "\${PIPESTATUS[0]}"`, "run", "plan.json")).code,
        0
      )
    })
  )
})
