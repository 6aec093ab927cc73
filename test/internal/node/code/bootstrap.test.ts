import { spawn } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bootstrap } from "../../../../src/internal/node/code/bootstrap.js"
import { inside } from "../../../../src/internal/node/code/inside.js"
import { alive, waitUntil } from "../../../support/processes.js"

const job = { inside, names: [], maxCalls: 1, maxLogBytes: 1000, maxOutputBytes: 1000 }

/** A program that starts code, says under which id that runs, and waits. */
const host = `
  const child = require("node:child_process").spawn(process.execPath, ["-e", process.argv[1], String(process.pid)], {
    stdio: ["pipe", "pipe", "ignore"],
    env: {},
    detached: true
  })
  child.stdin.write(process.argv[2] + "\\n")
  child.stdout.once("data", () => console.log(child.pid))
  setInterval(() => {}, 1000)
`

describe("internal/node/code/bootstrap", () => {
  it.live("an endless loop does not outlive the program that started it, even where that was killed", () =>
    Effect.gen(function* () {
      const code = "console.log(1); for (;;) {}"
      const parent = spawn(process.execPath, ["-e", host, bootstrap, JSON.stringify({ ...job, code })], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      let pid = 0
      parent.stdout.once("data", (text) => {
        pid = Number(text)
      })
      yield* waitUntil(() => pid !== 0, 10_000)
      assert.isTrue(alive(pid))
      parent.kill("SIGKILL")
      yield* Effect.onError(
        waitUntil(() => !alive(pid), 10_000),
        () => Effect.sync(() => process.kill(pid, "SIGKILL"))
      )
    })
  )
})
