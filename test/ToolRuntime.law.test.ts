import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FiberId, FastCheck as fc } from "effect"
import { type Cancellation, Content, Policy, ToolContext, ToolResult, type ToolRuntime } from "quiesce"
import { Approval } from "quiesce/capability"
import { HarnessError, type Setup, setup, user } from "./support/calls.js"

// 247: a random cancel, in a random instant, of a call whose stages do random things. Time is counted in yields: the
// scheduler takes turns, so that the same plan is the same interleaving.

const turns = (n: number) => (n === 0 ? Effect.void : Effect.repeatN(Effect.yieldNow(), n - 1))

/** One value out of five is another one: a call that gets as far as its body is the interesting one. */
const mostly = <const A extends string>(usual: A, ...others: ReadonlyArray<A>): fc.Arbitrary<A> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

const wait = fc.nat(6)
const onCancel = fc.constantFrom<Policy.OnCancel>("interrupt", "finish")

const planned = fc.record({
  before: fc.record({ wait, onCancel, does: mostly("allow", "ask", "deny", "fail", "die") }),
  approval: fc.record({
    wait,
    answers: mostly<Approval.Answer>("allowed-once", "rejected", "cancelled")
  }),
  guard: mostly("pass", "deny", "throw"),
  around: fc.record({
    onCancel,
    wait,
    does: fc.constantFrom<"next" | "twice" | "both" | "answer" | "walk away" | "fail before" | "fail after">(
      "next",
      "next",
      "next",
      "twice",
      "both",
      "answer",
      "walk away",
      "fail before",
      "fail after"
    ),
    waitAfter: wait
  }),
  inner: fc.record({ onCancel, wait, does: mostly("next", "fail after") }),
  body: fc.record({
    wait,
    ignoresCancel: fc.boolean(),
    forks: fc.boolean(),
    does: fc.constantFrom<"succeed" | "fail" | "die" | "interrupt itself" | "garbage" | "cancel">(
      "succeed",
      "succeed",
      "succeed",
      "fail",
      "die",
      "interrupt itself",
      "garbage",
      "cancel"
    )
  }),
  after: fc.record({ wait, does: mostly("accept", "block", "fail") }),
  observe: fc.record({ wait, does: mostly("hear", "die") }),
  /** In which turn the call is cancelled, and how. */
  cancel: fc.record({ turn: fc.nat(45), road: fc.constantFrom<"owner" | "caller" | "none">("owner", "caller", "none") })
})

type Plan = typeof planned extends fc.Arbitrary<infer P> ? P : never

const failure = (code: string) => new HarnessError({ message: `${code} says so`, code })

/** What is known of a run from outside of the runtime. */
interface Run {
  readonly plan: Plan
  readonly result: ToolResult.ToolResult
  /** How often the handler was called. */
  readonly bodies: number
  /** What the latest attempt deferred. */
  readonly deferred: ReadonlyArray<Content.Content>
  /** What still ran of bodies and of what they forked, when the result was published and at the end. */
  readonly live: readonly [number, number]
  /** How far the call was when it was cancelled, if it was. */
  readonly cancelledIn: ToolRuntime.Phase | undefined
}

const run = (plan: Plan) =>
  Effect.gen(function* () {
    let bodies = 0
    let live = 0
    let liveAtPublication = -1
    let deferred: ReadonlyArray<Content.Content> = []
    let cancelledIn: ToolRuntime.Phase | undefined

    const whileLive = <A, E, R>(self: Effect.Effect<A, E, R>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => live++),
        () => self,
        () =>
          Effect.zipRight(
            turns(2),
            Effect.sync(() => live--)
          )
      )
    /** Remembers how far the call was, whoever cancels it. */
    const noted = (cancel: Effect.Effect<unknown>) =>
      Effect.flatMap(t.runtime.inFlight, ([status]) => {
        if (status !== undefined) cancelledIn ??= status.phase
        return cancel
      })

    const t: Setup = yield* setup({
      bare: true,
      approval: Approval.layer(() => Effect.as(turns(plan.approval.wait), plan.approval.answers)),
      body: (text) => {
        bodies++
        const { does, forks, ignoresCancel, wait } = plan.body
        const ends = {
          succeed: Effect.succeed(text),
          fail: Effect.fail(failure("BODY")),
          die: Effect.die(failure("BODY")),
          "interrupt itself": Effect.interrupt,
          garbage: Effect.succeed(7 as never),
          cancel: Effect.as(noted(t.runtime.cancelCall("c1", user)), text)
        }[does]
        const work = Effect.gen(function* () {
          const { attempt } = yield* ToolContext.ToolContext
          const context = Content.text(`body ${attempt}`)
          yield* ToolContext.deferContext(context)
          deferred = [context]
          // A child inherits that it cannot be interrupted, and this one would never end.
          if (forks) yield* Effect.fork(Effect.interruptible(whileLive(Effect.never)))
          yield* turns(wait)
          return yield* ends as Effect.Effect<string, unknown>
        })
        return whileLive(ignoresCancel ? Effect.uninterruptible(work) : work)
      }
    })

    const policies: ReadonlyArray<Policy.Policy<Cancellation.Cancellation>> = [
      Policy.before(
        "before",
        () => {
          const decisions: Record<typeof plan.before.does, Effect.Effect<Policy.Decision, unknown>> = {
            allow: Effect.succeed(Policy.allow),
            ask: Effect.succeed(Policy.ask()),
            deny: Effect.succeed(Policy.deny("no")),
            fail: Effect.fail(failure("BEFORE")),
            die: Effect.die(failure("BEFORE"))
          }
          return Effect.zipRight(turns(plan.before.wait), decisions[plan.before.does])
        },
        plan.before
      ),
      Policy.guard("guard", () => {
        if (plan.guard === "throw") throw failure("GUARD")
        return plan.guard === "deny" ? "no" : undefined
      }),
      Policy.around(
        "around",
        (_, next) => {
          const { does, wait, waitAfter } = plan.around
          const answer = Effect.succeed(ToolResult.success("hi"))
          const ways: Record<typeof does, Effect.Effect<ToolResult.ToolResult, unknown, Cancellation.Cancellation>> = {
            next,
            twice: Effect.zipRight(next, next),
            both: Effect.map(Effect.all([next, next], { concurrency: "unbounded" }), ([, second]) => second),
            answer,
            "walk away": Effect.zipRight(Effect.forkDaemon(next), Effect.zipRight(turns(3), answer)),
            "fail before": Effect.fail(failure("AROUND")),
            "fail after": Effect.zipRight(next, Effect.fail(failure("AROUND")))
          }
          return Effect.zipRight(turns(wait), Effect.zipLeft(ways[does], turns(waitAfter)))
        },
        plan.around
      ),
      Policy.around(
        "inner",
        (_, next) => {
          const { does, wait } = plan.inner
          const inner = Effect.zipRight(turns(wait), next)
          return does === "next" ? inner : Effect.zipRight(inner, Effect.fail(failure("INNER")))
        },
        plan.inner
      ),
      Policy.after("after", () => {
        const { does, wait } = plan.after
        const review = { accept: Policy.accept({ contexts: [Content.text("after")] }), block: Policy.block([]) }
        return Effect.zipRight(
          turns(wait),
          does === "fail" ? Effect.fail(failure("AFTER")) : Effect.succeed(review[does])
        )
      }),
      Policy.observe("observe", () => {
        liveAtPublication = live
        return Effect.zipRight(turns(plan.observe.wait), plan.observe.does === "die" ? Effect.die("no") : Effect.void)
      })
    ]
    for (const policy of policies) yield* t.runtime.registerPolicy(policy)

    const caller = yield* Effect.fork(t.execute())
    const { road, turn } = plan.cancel
    if (road !== "none") {
      yield* turns(turn)
      yield* noted(
        road === "owner" ? t.runtime.cancelCall("c1", user) : Fiber.interruptAsFork(caller, FiberId.make(7, 0))
      )
    }
    const exit = yield* Fiber.await(caller)
    yield* t.runtime.awaitIdle
    const [result] = t.observed
    if (result === undefined) return undefined // interrupted before it was a call
    t.check(result)
    if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, result)
    else assert.isTrue(Exit.isInterrupted(exit) && road === "caller")
    return { plan, result, bodies, deferred, live: [liveAtPublication, live], cancelledIn } satisfies Run
  })

const codeOf = (result: ToolResult.ToolResult) => (result._tag === "Success" ? "OK" : result.code)
const seen = new Map<string, number>()

const checkRun = ({ bodies, cancelledIn, deferred, live, plan, result }: Run) => {
  const code = codeOf(result)
  const where = `${code} when cancelled in ${cancelledIn}`
  seen.set(code, (seen.get(code) ?? 0) + 1)
  const isAbort = code === "ABORTED" || code === "ABORTED_BEFORE_DISPATCH"
  const wasCancelled = cancelledIn !== undefined

  assert.strictEqual(result.dispatched, bodies > 0, `L2: ${where}`)
  assert.strictEqual(code === "ABORTED", isAbort && bodies > 0, `L2: ${where}`)
  if (isAbort) assert.isTrue(wasCancelled, `L5: ${where}`)
  assert.strictEqual(isAbort, result._tag === "Failure" && result.cause !== undefined, `L6: ${where}`)
  if (wasCancelled && cancelledIn !== "reviewed" && cancelledIn !== "published") {
    assert.notStrictEqual(code, "OK", `L5: ${where}`)
  }
  assert.deepStrictEqual(live, [0, 0], `L3: ${where}`)

  // L12: the body's contexts come first, and only a block drops them.
  if (code === "BLOCKED") assert.deepStrictEqual(result.contexts, [])
  else assert.deepStrictEqual(result.contexts.slice(0, deferred.length), deferred, `L12: ${where}`)

  // L5: whatever has an end of its own is one of the ends that the plan has.
  const ends = new Set([
    "OK",
    ...(wasCancelled ? ["ABORTED", "ABORTED_BEFORE_DISPATCH"] : []),
    ...(plan.before.does === "deny" || plan.guard === "deny" || plan.before.does === "ask" ? ["DENIED"] : []),
    ...(plan.before.does === "fail" || plan.before.does === "die" ? ["BEFORE"] : []),
    ...(plan.guard === "throw" ? ["GUARD"] : []),
    ...(plan.around.does.startsWith("fail") ? ["AROUND"] : []),
    ...(plan.inner.does === "fail after" ? ["INNER"] : []),
    ...(plan.body.does === "fail" || plan.body.does === "die" ? ["BODY"] : []),
    ...(plan.body.does === "interrupt itself" ? ["INTERRUPTED"] : []),
    ...(plan.body.does === "garbage" ? ["INVALID_TOOL_OUTPUT"] : []),
    ...(plan.after.does === "fail" ? ["AFTER"] : []),
    ...(plan.after.does === "block" ? ["BLOCKED"] : [])
  ])
  assert.include([...ends], code)
}

describe("ToolRuntime (laws)", () => {
  it.scoped.prop(
    "247: whatever the stages do and whenever the call is cancelled, its result is the truth",
    { plan: planned },
    ({ plan }) => Effect.map(run(plan), (outcome) => outcome === undefined || checkRun(outcome)),
    { timeout: 60_000, fastCheck: { numRuns: 200 } }
  )

  it("247: the plans led to every kind of end", () => {
    assert.includeMembers(
      [...seen.keys()],
      ["OK", "ABORTED", "ABORTED_BEFORE_DISPATCH", "DENIED", "BODY", "AROUND", "BLOCKED", "AFTER", "BEFORE"]
    )
  })
})
