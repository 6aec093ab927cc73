/**
 * A small tool pipeline, correct, and with one of seven bugs planted in it. Each is a bug that was found in real systems.
 */
import { Deferred, Effect, Exit, Fiber, Ref } from "effect"
import { Sim } from "quiesce/testing"

export type Bug =
  | "late mark"
  | "double publish"
  | "signal not restored"
  | "abandoned body"
  | "lost wake-up"
  | "release gap"
  | "check then act"

const step = Effect.yieldNow()

/** The body: a side effect on something outside, while it holds a lock. */
const body = Effect.zipRight(Sim.event("side effect"), Sim.external("rpc", { ok: Effect.succeed("done") }))

interface State {
  dispatched: boolean
  readonly published: Array<string>
  ambient: string
  bodyRuns: boolean
  held: boolean
}

const publish = (state: State, result: string) =>
  Sim.event("publish").pipe(Effect.tap(() => state.published.push(result)))

const guarded = (state: State, bug: Bug | undefined): Effect.Effect<string, never, Sim.Sim> => {
  const acquire = Effect.sync(() => {
    state.held = true
  }).pipe(Effect.zipRight(Sim.event("acquire")))
  const release = Sim.event("release").pipe(
    Effect.tap(() => {
      state.held = false
    })
  )
  return bug === "release gap"
    ? Effect.zipRight(acquire, Effect.ensuring(body, release))
    : Effect.acquireUseRelease(
        acquire,
        () => body,
        () => release
      )
}

const mark = (state: State, bug: Bug | undefined) => {
  const set = Effect.sync(() => {
    state.dispatched = true
  })
  return bug === "late mark" ? Effect.zipRight(step, set) : set
}

const running = (state: State, bug: Bug | undefined) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      state.bodyRuns = true
    }),
    () => (bug === "late mark" ? Effect.zipLeft(guarded(state, bug), mark(state, bug)) : guarded(state, bug)),
    () =>
      Effect.zipRight(
        step,
        Effect.sync(() => {
          state.bodyRuns = false
        })
      )
  )

const dispatch = (state: State, bug: Bug | undefined): Effect.Effect<string, never, Sim.Sim> => {
  const marked = bug === "late mark" ? running(state, bug) : Effect.zipRight(mark(state, bug), running(state, bug))
  if (bug === "abandoned body") return Effect.flatMap(Effect.forkDaemon(marked), Fiber.join)
  return marked
}

const withAmbient = <A, R>(
  state: State,
  bug: Bug | undefined,
  self: Effect.Effect<A, never, R>
): Effect.Effect<A, never, R> => {
  const set = Effect.sync(() => {
    state.ambient = "call"
  })
  const restore = Effect.sync(() => {
    state.ambient = "host"
  })
  return bug === "signal not restored"
    ? Effect.zipLeft(Effect.zipRight(set, self), restore)
    : Effect.acquireUseRelease(
        set,
        () => self,
        () => restore
      )
}

/** Waits until somebody approves. */
const approval = (
  bug: Bug | undefined,
  approved: Ref.Ref<boolean>,
  bell: Ref.Ref<Deferred.Deferred<void> | undefined>
) =>
  bug === "lost wake-up"
    ? Effect.gen(function* () {
        if (yield* Ref.get(approved)) return
        yield* step
        const waiter = yield* Deferred.make<void>()
        yield* Ref.set(bell, waiter)
        yield* Deferred.await(waiter)
      })
    : Effect.gen(function* () {
        const waiter = yield* Deferred.make<void>()
        yield* Ref.set(bell, waiter)
        if (yield* Ref.get(approved)) return
        yield* Deferred.await(waiter)
      })

/** The whole pipeline under one host that may interrupt it. */
export const pipeline = (bug?: Bug) =>
  Effect.gen(function* () {
    const state: State = { dispatched: false, published: [], ambient: "host", bodyRuns: false, held: false }
    const approved = yield* Ref.make(false)
    const bell = yield* Ref.make<Deferred.Deferred<void> | undefined>(undefined)
    yield* Effect.fork(
      Effect.gen(function* () {
        yield* Sim.external("approve", { yes: Effect.void })
        yield* Ref.set(approved, true)
        const waiter = yield* Ref.get(bell)
        if (waiter !== undefined) yield* Deferred.succeed(waiter, undefined)
      })
    )
    const settled = yield* Ref.make(false)
    const settleOnce = (result: string) =>
      bug === "check then act"
        ? Effect.gen(function* () {
            if (yield* Ref.get(settled)) return
            yield* Ref.set(settled, true)
            yield* publish(state, result)
          })
        : Effect.flatMap(
            Ref.modify(settled, (was) => [!was, true]),
            (first) => (first ? publish(state, result) : Effect.void)
          )
    const work = Effect.zipRight(approval(bug, approved, bell), withAmbient(state, bug, dispatch(state, bug)))
    const classify = Effect.suspend(() =>
      settleOnce(state.dispatched ? "interrupted after dispatch" : "interrupted before dispatch")
    )
    const call =
      bug === "double publish"
        ? Effect.flatMap(work, (value) => publish(state, value)).pipe(
            Effect.onInterrupt(() =>
              publish(state, state.dispatched ? "interrupted after dispatch" : "interrupted before dispatch")
            )
          )
        : Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(Effect.exit(restore(work)), (exit) =>
              Exit.isSuccess(exit) ? settleOnce(exit.value) : classify
            )
          )
    // A fiber that is interrupted before its first operation runs no code at all: the host owns that case.
    const fiber = yield* Sim.fork("call")(Effect.uninterruptible(Effect.interruptible(call)))
    yield* Sim.interrupt(fiber)
    if (bug === "check then act") {
      const canceller = yield* Sim.fork("canceller")(Effect.zipRight(step, settleOnce("cancelled")))
      yield* Fiber.await(canceller)
    }
    yield* Fiber.await(fiber)
    yield* Sim.event(`ambient ${state.ambient}`)
    yield* Sim.event(state.bodyRuns ? "body still runs" : "quiet")
    if (state.held) yield* Sim.event("still held")
    const result = state.published[0] ?? "never started"
    if (result === "interrupted before dispatch") yield* Sim.event("claimed not to have run")
    return state.published.length > 1 ? `twice: ${state.published.join(", ")}` : result
  })
