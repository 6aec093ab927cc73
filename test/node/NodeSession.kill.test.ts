import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { NodeSession } from "quiesce/node"
import { SessionLog } from "quiesce/testing"
import { makeFolder } from "../support/folder.js"
import { waitUntil } from "../support/processes.js"
import { refusals } from "../support/providerRules.js"
import { makeRandom } from "../support/sessionScript.js"

const child = path.resolve("test/support/sessionChild.mjs")

class Child {
  private readonly process: ChildProcess
  output = ""
  hasEnded = false

  constructor(...args: ReadonlyArray<string>) {
    this.process = spawn(process.execPath, [child, ...args], { stdio: ["ignore", "pipe", "inherit"] })
    this.process.stdout?.on("data", (chunk) => {
      this.output += chunk
    })
    this.process.once("close", () => {
      this.hasEnded = true
    })
  }

  get killed(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.process.kill("SIGKILL")
      return waitUntil(() => this.hasEnded, 20_000)
    })
  }
}

const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0

describe("NodeSession, killed", () => {
  it.live(
    "L8, L13: an agent with real tools, killed at 50 instants: its session opens each time, with all that was appended, and a valid request",
    () =>
      Effect.gen(function* () {
        const codes = yield* Effect.forEach(
          [1, 2, 3, 4, 5],
          (seed) =>
            Effect.gen(function* () {
              const random = makeRandom(seed)
              const base = yield* makeFolder
              const [file, folder, acknowledged] = ["session.jsonl", "files", "acknowledged"].map((name) =>
                path.join(base, name)
              ) as [string, string, string]
              fs.mkdirSync(folder)
              const found: Array<string> = []
              for (let kill = 0; kill < 10; kill++) {
                const process = new Child("work", file, folder, acknowledged, String(seed + kill))
                const size = sizeOf(file) + random.nextBelow(15_000)
                yield* Effect.addFinalizer(() => process.killed)
                yield* waitUntil(() => process.hasEnded || (sizeOf(acknowledged) > 0 && sizeOf(file) > size), 60_000)
                assert.isFalse(process.hasEnded, process.output)
                yield* Effect.sleep(random.nextBelow(20))
                yield* process.killed
                const where = `seed ${seed}, kill ${kill}`
                const last = Number(fs.readFileSync(acknowledged, "utf8").split("\n").at(-2))
                const { events, messages } = yield* NodeSession.make({ file, sync: "never" }).pipe(
                  Effect.map((session) => ({ events: session.events(), messages: session.messages() })),
                  Effect.scoped
                )
                const isReopened = events.findLastIndex(({ event }) => event._tag === "SessionReopened")
                assert.isAtLeast(isReopened, last, where) // what was acknowledged comes before it
                assert.deepStrictEqual(SessionLog.problems(events), [], where)
                assert.deepStrictEqual(refusals(messages), [], where)
                for (const { event } of events.slice(isReopened)) {
                  if (event._tag === "CallEnded" && event.result._tag === "Failure") found.push(event.result.code)
                }
                fs.truncateSync(acknowledged)
              }
              assert.deepStrictEqual(fs.readdirSync(base).sort(), ["acknowledged", "files", "session.jsonl"])
              return found
            }).pipe(Effect.scoped),
          { concurrency: 2 }
        )
        // It was killed in the middle of calls, too.
        assert.include(codes.flat(), "OUTCOME_UNKNOWN")
      }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))),
    240_000
  )

  it.live(
    "of those who find a session whose program is gone, one opens it",
    () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const file = path.join(folder, "session.jsonl")
        const start = Effect.acquireRelease(
          Effect.sync(() => new Child("hold", file)),
          (process) => process.killed
        )
        const first = yield* start
        yield* waitUntil(() => first.output !== "", 20_000)
        assert.strictEqual(first.output, "open\n")
        yield* first.killed
        const rivals = yield* Effect.replicateEffect(start, 5)
        yield* waitUntil(() => rivals.every(({ output }) => output.endsWith("\n")), 60_000)
        const outputs = rivals.map(({ output }) => output).sort()
        assert.strictEqual(outputs.filter((output) => output === "open\n").length, 1, outputs.join(""))
        for (const output of outputs.filter((output) => output !== "open\n")) {
          assert.match(
            output,
            /^Cannot open session ".*": process \d+ on .* has it open\. Close it there, or use another/
          )
        }
      }).pipe(Effect.scoped),
    120_000
  )
})
