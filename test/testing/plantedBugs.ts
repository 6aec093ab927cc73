/**
 * A small tool pipeline, correct, or with one of seven bugs planted in it. Each is a bug that was found in real systems.
 *
 * Approval, ambient signal, mark, lock, body, one result: all its state is made anew in each run.
 */
import { Deferred, Effect, Exit, Fiber, Runtime } from "effect"
import { Invariant, Sim } from "quiesce/testing"

export const bugs = [
  "late mark",
  "double publish",
  "signal not restored",
  "abandoned body",
  "lost wake-up",
  "release gap",
  "check then act"
] as const

export type Bug = (typeof bugs)[number]

class State {
  dispatched = false
  approved = false
  bell: Deferred.Deferred<void> | undefined
  ambient = "host"
  settled = false
  bodyRuns = false
  published: Array<string> = []
}

/** What must hold of the pipeline. */
export const truths: ReadonlyArray<Invariant.Invariant> = [
  Invariant.atMostOnce("publish"),
  Invariant.balanced("acquire", "release"),
  Invariant.never("side effect", { after: "end" }),
  (run) => (run.events.some(({ tag }) => tag === "ambient call") ? "the ambient signal was not restored" : undefined),
  (run) => (run.events.some(({ tag }) => tag === "body runs") ? "published while the body runs" : undefined),
  (run) =>
    run.outcome === "interrupted before dispatch" && run.events.some(({ tag }) => tag === "side effect")
      ? "claimed not to have run"
      : undefined
]

const make = (bug: Bug | undefined, sim: Sim.Service) => {
  const state = new State()
  const has = (planted: Bug) => bug === planted

  /** The host approves sooner or later. */
  const approve = Effect.andThen(Sim.external("approve", { yes: Effect.void }), () => {
    state.approved = true
    return state.bell === undefined ? Effect.void : Deferred.succeed(state.bell, undefined)
  })

  const approval = Effect.gen(function* () {
    const waiter = yield* Deferred.make<void>()
    const register = Effect.sync(() => {
      state.bell = waiter
    })
    if (!has("lost wake-up")) yield* register
    if (state.approved) return
    if (has("lost wake-up")) yield* Effect.zipRight(Effect.yieldNow(), register)
    yield* Deferred.await(waiter)
  })

  const mark = Effect.sync(() => {
    state.dispatched = true
  })

  const act = Effect.andThen(
    Effect.sync(() => {
      state.bodyRuns = true
      sim.event("side effect")
    }),
    Sim.external("rpc", { ok: Effect.succeed("done") })
  ).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        state.bodyRuns = false
      })
    )
  )

  const acquire = Effect.sync(() => sim.event("acquire"))
  const release = Effect.sync(() => sim.event("release"))
  const guarded = has("release gap")
    ? Effect.andThen(acquire, Effect.ensuring(act, release))
    : Effect.acquireUseRelease(
        acquire,
        () => act,
        () => release
      )

  const dispatched = has("late mark") ? Effect.zipLeft(guarded, mark) : Effect.andThen(mark, guarded)
  const body = has("abandoned body") ? Effect.andThen(Effect.forkDaemon(dispatched), Fiber.join) : dispatched

  const enter = Effect.sync(() => {
    state.ambient = "call"
  })
  const leave = Effect.sync(() => {
    state.ambient = "host"
  })
  const work = has("signal not restored")
    ? Effect.andThen(enter, Effect.zipLeft(body, leave))
    : Effect.acquireUseRelease(
        enter,
        () => body,
        () => leave
      )

  const publish = (result: string) => {
    state.published.push(result)
    sim.event("publish")
  }
  const settle = (result: string) =>
    has("check then act")
      ? Effect.flatMap(
          Effect.sync(() => state.settled),
          (settled) =>
            Effect.sync(() => {
              if (settled) return
              state.settled = true
              publish(result)
            })
        )
      : Effect.sync(() => {
          if (state.settled) return
          state.settled = true
          publish(result)
        })
  const interrupted = Effect.suspend(() =>
    settle(state.dispatched ? "interrupted after dispatch" : "interrupted before dispatch")
  )
  const approvedWork = Effect.andThen(approval, work)
  const call = has("double publish")
    ? Effect.tap(approvedWork, (result) => Effect.sync(() => publish(result))).pipe(
        Effect.onInterrupt(() => interrupted)
      )
    : Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.exit(restore(approvedWork)), (exit) =>
          Exit.isSuccess(exit) ? settle(exit.value) : interrupted
        )
      )

  return { state, approve, settle, call }
}

/**
 * The pipeline under a host that may interrupt it and, with `canceller`, may settle it as cancelled.
 *
 * Succeeds with the first result that was published, or with "never started": a fiber that is interrupted before its
 * first operation runs no code at all.
 */
export const pipeline = (bug?: Bug, canceller = bug === "check then act") =>
  Effect.gen(function* () {
    const sim = yield* Sim.Sim
    const { approve, call, settle, state } = make(bug, sim)
    const runtime = yield* Effect.runtime<never>()
    yield* Sim.fork("host")(approve)
    const fiber = yield* Sim.fork("call")(call)
    yield* Sim.interrupt(fiber)
    if (canceller) {
      yield* Sim.fault("cancel", () => {
        Runtime.runFork(runtime, settle("cancelled"), { immediate: false })
      })
    }
    yield* Fiber.await(fiber)
    sim.event(`ambient ${state.ambient}`)
    if (state.bodyRuns) sim.event("body runs")
    sim.event("end")
    return state.published[0] ?? "never started"
  })
