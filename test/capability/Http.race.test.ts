import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Schedule, Stream } from "effect"
import { Cancellation } from "quiesce"
import { Http } from "quiesce/capability"
import { Explore, ScriptedHttp, Sim } from "quiesce/testing"
import { deepened, isNightly } from "../support/depth.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const url = "http://a.test/"

/** What an operation came to, in a word. */
const word = (exit: Exit.Exit<unknown, Http.HttpError>): string => {
  if (Exit.isSuccess(exit)) return "done"
  const [error] = Cause.failures(exit.cause)
  if (error !== undefined) return error.reason
  assert.isTrue(Cause.isInterruptedOnly(exit.cause), Cause.pretty(exit.cause))
  return "stopped"
}

/** Runs an operation that the explorer may cancel at any step, and asserts that nothing of it is left when it ends. */
const cancelled = (
  server: ScriptedHttp.Server,
  operation: Effect.Effect<unknown, Http.HttpError, Http.Http | Cancellation.Cancellation>,
  check: (handle: ScriptedHttp.Handle, outcome: string) => Effect.Effect<string> = (_, outcome) =>
    Effect.succeed(outcome)
) =>
  Effect.gen(function* () {
    const handle = yield* ScriptedHttp.make(server)
    const controller = new AbortController()
    const owned = Cancellation.ownSignal(Effect.provide(operation, handle.layer), controller.signal)
    const fiber = yield* Sim.fork("operation")(
      Effect.onExit(owned, () =>
        Effect.gen(function* () {
          assert.strictEqual(yield* handle.open, 0, "H4: a connection is left")
          assert.strictEqual(yield* handle.staged, 0, "a staged file is left")
        })
      )
    )
    yield* Sim.abort(controller, "stop", "cancel")
    const outcome = word(yield* Fiber.await(fiber))
    if (outcome === "TimedOut") assert.isAtLeast(yield* Clock.currentTimeMillis, 100, "H2: its time was not over")
    if (outcome === "stopped") assert.isTrue(controller.signal.aborted, "H2: nobody has stopped it")
    yield* Sim.outcome(yield* check(handle, outcome))
  })

/**
 * A fault before every operation in the default order; then a fault and a departure from that order, a timer that fires
 * early included, wherever a fiber waits.
 */
const searches: ReadonlyArray<Explore.Options<void, unknown>> = [
  { preemptions: 0, granularity: "op" },
  { preemptions: 1, granularity: "suspension", timers: "any" }
]

const explore = (
  name: string,
  scenario: Effect.Effect<void, unknown, Sim.Sim>,
  expect: ReadonlyArray<string>,
  within = searches
) =>
  it.live(
    name,
    () =>
      Effect.gen(function* () {
        const reports = yield* Effect.forEach(within, (options) =>
          Explore.check(scenario, isNightly() ? deepened(options) : options)
        )
        for (const { bound, complete } of reports) assert.isTrue(complete || isNightly(), bound)
        const seen = new Set(reports.flatMap(({ outcomes }) => [...outcomes.keys()]))
        assert.sameMembers([...seen], [...expect], "the outcomes that there are")
      }),
    isNightly() ? 3_600_000 : 180_000
  )

const answers = Sim.external("server", {
  answers: Effect.succeed<ScriptedHttp.Answer>({ body: "hello" }),
  cuts: Effect.fail("cut")
})

/** A server that the explorer plays, too. */
const withServer = <A, E>(
  serve: Effect.Effect<ScriptedHttp.Answer, string, Sim.Sim>,
  use: (server: ScriptedHttp.Server) => Effect.Effect<A, E, Sim.Sim>
) => Effect.flatMap(Sim.Sim, (sim) => use(() => Effect.provideService(serve, Sim.Sim, sim)))

describe("Http, in every order", () => {
  explore(
    "its time, a cancel and the answer: the first counts, and nothing is left",
    withServer(answers, (server) => cancelled(server, Http.text({ url, timeout: 100 }))),
    ["done", "ConnectionLost", "TimedOut", "stopped"]
  )

  explore(
    "a back-off, its time and a cancel: no connection is opened after a stop",
    withServer(answers, (server) =>
      cancelled(
        server,
        Http.text({ url, timeout: 100, retry: Schedule.intersect(Schedule.recurs(1), Schedule.spaced(60)) }),
        (handle, outcome) => Effect.map(handle.received, ({ length }) => `${outcome} after ${length}`)
      )
    ),
    [
      "done after 1",
      "done after 2",
      "ConnectionLost after 2",
      "TimedOut after 1",
      "TimedOut after 2",
      "stopped after 0",
      "stopped after 1",
      "stopped after 2"
    ]
  )

  explore(
    "the commit of a download and a cancel: what is done is there, and what is not there is not done",
    withServer(Effect.succeed({ body: Stream.make(bytes("a"), bytes("b")) }), (server) =>
      cancelled(server, Http.download({ url, path: "file", timeout: 100 }), (handle, outcome) =>
        Effect.map(handle.files, (files) => {
          if (outcome === "done") assert.strictEqual(new TextDecoder().decode(files.get("file")), "ab")
          return `${outcome}, ${files.has("file") ? "there" : "not there"}`
        })
      )
    ),
    ["done, there", "stopped, there", "stopped, not there", "TimedOut, not there"]
  )

  explore(
    "an upload that fails, the answer and a cancel: the source is finalised first",
    withServer(answers, (server) =>
      Effect.gen(function* () {
        let live = 0
        const source = Stream.acquireRelease(
          Effect.sync(() => live++),
          () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => live--)
            )
        )
        const sim = yield* Sim.Sim
        const more = Sim.external("source", { goes: Effect.void, breaks: Effect.fail("broken") })
        const body = Stream.flatMap(source, () =>
          Stream.as(Stream.fromEffect(Effect.provideService(more, Sim.Sim, sim)), bytes("x"))
        )
        yield* cancelled(server, Http.text({ url, method: "POST", body, timeout: 100 }), (_, outcome) =>
          Effect.sync(() => {
            assert.strictEqual(live, 0, "H4: the source is not finalised")
            return outcome
          })
        )
      })
    ),
    ["done", "ConnectionLost", "UploadFailed", "TimedOut", "stopped"],
    searches.slice(1) // the other takes as long as all the rest
  )
})
