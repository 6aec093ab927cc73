import { spawn } from "node:child_process"
import * as path from "node:path"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "../support/built.js"
import { waitUntil } from "../support/processes.js"

beforeAll(build, 120_000)

describe("NodeShutdown", () => {
  // `ready` says that it listens; `sleep` is a process of its own, which must not be left.
  const child = (hold: boolean) => `
    import { Effect } from "effect"
    import { Cancellation } from "quiesce"
    import { Process } from "quiesce/capability"
    import { NodeProcess, NodeShutdown } from "quiesce/node"
    const sleep = Process.run({ command: "sleep", args: ["600"] })
    const work = Effect.zipRight(Effect.sync(() => console.log("ready")), sleep)
    const held = ${hold} ? Effect.onInterrupt(work, () => Effect.zipRight(Effect.sync(() => console.log("stopping")), Effect.never)) : work
    setInterval(() => {}, 1e9) // holds the process for ever
    await Cancellation.own(Effect.provide(held, NodeProcess.layer)).pipe(
      Effect.provide(NodeShutdown.layer({ grace: "1 minute" })), Effect.exit, Effect.runPromise)
    console.log("quiet")`

  const byRunMain = `
    import { NodeRuntime } from "@effect/platform-node"
    import { Effect } from "effect"
    import { Cancellation } from "quiesce"
    import { NodeShutdown } from "quiesce/node"
    const work = Effect.zipRight(Effect.sync(() => console.log("ready")), Effect.never)
    const held = Effect.onInterrupt(work, () => Effect.sync(() => console.log("stopped")))
    NodeRuntime.runMain(Effect.provide(Cancellation.own(held), NodeShutdown.layer()))`

  const run = (hold: boolean, source = child(hold)) => {
    const program = spawn(process.execPath, ["--input-type=module", "--eval", source], {
      cwd: path.resolve("."),
      stdio: ["ignore", "pipe", "inherit"]
    })
    let stdout = ""
    const ended = new Promise<{ readonly code: number | null; readonly stdout: string }>((resolve) => {
      program.once("close", (code) => resolve({ code, stdout }))
    })
    program.stdout.on("data", (text) => {
      stdout += text
    })
    const wrote = (text: string) => Effect.runPromise(waitUntil(() => stdout.includes(text), 20_000))
    return { program, wrote, ended }
  }

  it.live("a signal ends it with its code, although something holds it", () =>
    Effect.promise(async () => {
      const { ended, program, wrote } = run(false)
      await wrote("ready")
      program.kill("SIGTERM")
      assert.deepStrictEqual(await ended, { code: 143, stdout: "ready\nquiet\n" })
    })
  )

  it.live("a signal ends it with its code under NodeRuntime.runMain, too, which would leave with 0", () =>
    Effect.promise(async () => {
      const { ended, program, wrote } = run(false, byRunMain)
      await wrote("ready")
      program.kill("SIGTERM")
      assert.deepStrictEqual(await ended, { code: 143, stdout: "ready\nstopped\n" })
    })
  )

  it.live("243, 245. the second signal ends one that never becomes quiet", () =>
    Effect.promise(async () => {
      const { ended, program, wrote } = run(true)
      await wrote("ready")
      program.kill("SIGTERM")
      await wrote("stopping")
      program.kill("SIGINT")
      assert.deepStrictEqual(await ended, { code: 130, stdout: "ready\nstopping\n" })
    })
  )
})
