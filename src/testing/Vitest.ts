/**
 * `it` of `@effect/vitest`, with tests that are explored and tests that own what they run.
 *
 * Import it from `quiesce/testing/Vitest`: it needs the optional peers `vitest` and `@effect/vitest`, and the rest of the
 * kit needs no test runner.
 *
 * What it does not do: `it.explore` has no test clock, since time in a scenario is the explorer's, and `it.owned` looks at
 * one order of events only.
 *
 * @since 0.1.0
 */
import { effect, it as effectIt, live, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as TestServices from "effect/TestServices"
import type { TestContext, TestOptions } from "vitest"
import * as Cancellation from "../Cancellation.js"
import { deepened, isNightly } from "../internal/testing/nightly.js"
import * as Explore from "./Explore.js"
import type * as Invariant from "./Invariant.js"
import type { Sim } from "./Sim.js"

/**
 * What is explored: an effect, or a function that makes it and is called anew for each run, so that state beside the
 * effect is fresh too.
 *
 * @since 0.1.0
 * @category models
 */
export type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope> | (() => Effect.Effect<A, E, Sim | Scope.Scope>)

/**
 * How a test explores: the options of `Explore.check`, but for the invariants, which have a place of their own.
 *
 * @since 0.1.0
 * @category models
 */
export type ExploreOptions = Omit<Explore.Options<never, never>, "invariants">

/**
 * Defines a test that explores a scenario, and holds invariants against each of its runs, if there are any.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExploreTest {
  <A, E>(name: string, scenario: Scenario<A, E>, options?: ExploreOptions, timeout?: number | TestOptions): void
  <A, E>(
    name: string,
    scenario: Scenario<A, E>,
    invariants: ReadonlyArray<Invariant.Invariant<A, E>>,
    options?: ExploreOptions,
    timeout?: number | TestOptions
  ): void
}

/**
 * Defines tests that explore, as `it.effect` defines tests that run once.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExploreTester extends ExploreTest {
  readonly only: ExploreTest
  readonly skip: ExploreTest
  readonly skipIf: (condition: unknown) => ExploreTest
  readonly runIf: (condition: unknown) => ExploreTest
  /** Passes when the scenario fails under some schedule: for a flaw that is known and not repaired yet. */
  readonly fails: ExploreTest
}

/**
 * Defines tests whose effect runs under an owner of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface OwnedTester extends Vitest.Tester<Cancellation.Cancellation | TestServices.TestServices> {
  /** As `it.scoped`: the scope closes before the owner ends, so finalizers may use capabilities. */
  readonly scoped: Vitest.Tester<Cancellation.Cancellation | Scope.Scope | TestServices.TestServices>
  /** As `it.live`. */
  readonly live: Vitest.Tester<Cancellation.Cancellation>
  /** As `it.scopedLive`. */
  readonly scopedLive: Vitest.Tester<Cancellation.Cancellation | Scope.Scope>
}

/**
 * What `it` can do.
 *
 * @since 0.1.0
 * @category models
 */
export interface Methods extends Vitest.Methods {
  /**
   * Explores a scenario with `Explore.check`, in real time. Default timeout: 60 seconds.
   *
   * The test fails with the schedule and the timeline of the first failure. `EXPLORE_REPLAY='x1/...' vitest -t name` runs
   * that schedule only, and `EXPLORE_HTML=folder` writes the timeline into a file, too, which the message names. A search
   * that ends before its bound is exhausted fails too, unless `maxSchedules` or `sample` says that this is wanted. How many
   * schedules were run is an annotation of the test.
   *
   * `EXPLORE_DEPTH=nightly` goes deeper, for an hour at most: one more preemption, up to 200,000 schedules, or ten times as
   * many runs of a `sample`. What it could not exhaust it says in its annotation, and does not fail for it.
   */
  readonly explore: ExploreTester
  /**
   * As `it.effect`, for an effect that needs `Cancellation`: it runs under `Cancellation.own`, and the test ends when
   * nothing that it started runs any more.
   */
  readonly owned: OwnedTester
}

const aMinute = 60_000
const anHour = 60 * aMinute

const withDefault = (timeout: number | TestOptions | undefined): number | TestOptions =>
  typeof timeout === "object" ? { timeout: aMinute, ...timeout } : (timeout ?? aMinute)

// Nobody reads the report of a test that passes, so it may not pass without having looked at everything.
const demandComplete = (
  report: Explore.Report,
  { maxSchedules, sample }: ExploreOptions
): Effect.Effect<void, Explore.ExploreFailure> => {
  const isReplay = report.schedules === 1
  if (report.complete || isReplay || maxSchedules !== undefined || sample !== undefined) return Effect.void
  const problem = `the search has not come to its end: ${report.schedules} schedules, ${report.bound}. Lower the bound, or set maxSchedules`
  return new Explore.ExploreFailure({ problem, schedule: "", message: problem })
}

const annotate = (context: TestContext, report: Explore.Report): void => {
  // vitest waits for its annotations before it ends the test.
  void context.annotate(`${report.schedules} schedules, ${report.complete ? "all" : "not all"} of ${report.bound}`)
}

const fullName = ({ task }: TestContext): string => {
  const names = [task.name]
  for (let { suite } = task; suite !== undefined; suite = suite.suite) names.unshift(suite.name)
  return names.filter((name) => name !== "").join(" ")
}

type Timeout = number | TestOptions | undefined

type Plain = readonly [options?: ExploreOptions | undefined, timeout?: Timeout]

type WithInvariants<A, E> = readonly [invariants: ReadonlyArray<Invariant.Invariant<A, E>>, ...Plain]

const hasInvariants = <A, E>(given: Plain | WithInvariants<A, E>): given is WithInvariants<A, E> =>
  Array.isArray(given[0])

const exploring =
  (test: Vitest.Test<never>): ExploreTest =>
  <A, E>(name: string, scenario: Scenario<A, E>, ...given: Plain | WithInvariants<A, E>) => {
    const [invariants, asked = {}, timeout] = hasInvariants(given) ? given : ([[], ...given] as const)
    const options = isNightly() ? deepened(asked) : asked
    test(
      name,
      (context) => {
        const explored = Effect.isEffect(scenario) ? scenario : Effect.suspend(scenario)
        const checked = Explore.check(explored, { name: fullName(context), ...options, invariants })
        return Effect.flatMap(checked, (report) => {
          annotate(context, report)
          return demandComplete(report, options)
        })
      },
      isNightly() ? anHour : withDefault(timeout)
    )
  }

const explore: ExploreTester = Object.assign(exploring(live), {
  only: exploring(live.only),
  skip: exploring(live.skip),
  skipIf: (condition: unknown) => exploring(live.skipIf(condition)),
  runIf: (condition: unknown) => exploring(live.runIf(condition)),
  fails: exploring(live.fails)
})

const owning = <R, R2>(
  tester: Vitest.Tester<R>,
  own: <A, E>(self: Effect.Effect<A, E, R2>) => Effect.Effect<A, E, R>
): Vitest.Tester<R2> => {
  const owned =
    (test: Vitest.Test<R>): Vitest.Test<R2> =>
    (name, self, timeout) =>
      test(name, (context) => own(self(context)), timeout)
  return Object.assign(owned(tester), {
    only: owned(tester.only),
    skip: owned(tester.skip),
    skipIf: (condition: unknown) => owned(tester.skipIf(condition)),
    runIf: (condition: unknown) => owned(tester.runIf(condition)),
    fails: owned(tester.fails),
    each:
      <T>(cases: ReadonlyArray<T>) =>
      <A, E>(name: string, self: Vitest.TestFunction<A, E, R2, Array<T>>, timeout?: number | TestOptions) =>
        tester.each(cases)<A, E>(name, (...args) => own(self(...args)), timeout),
    prop: ((name, arbitraries, self, timeout) =>
      tester.prop(name, arbitraries, (...args) => own(self(...args)), timeout)) as Vitest.Tester<R2>["prop"]
  })
}

type Owner = Cancellation.Cancellation
type Services = TestServices.TestServices

const owned: OwnedTester = Object.assign(owning<Services, Services | Owner>(effect, Cancellation.own), {
  // Not by way of `it.scoped`: its scope closes when the owner has ended, and finalizers could use no capability.
  scoped: owning<Services, Services | Owner | Scope.Scope>(effect, (self) => Cancellation.own(Effect.scoped(self))),
  live: owning<never, Owner>(live, Cancellation.own),
  scopedLive: owning<never, Owner | Scope.Scope>(live, (self) => Cancellation.own(Effect.scoped(self)))
})

// `it` of `@effect/vitest` is the `it` of vitest itself, for every file that imports either: it is left as it is.
const inheriting: Vitest.Methods = Object.setPrototypeOf(
  (...args: Parameters<typeof effectIt>) => effectIt(...args),
  effectIt
)

/**
 * `it` of `@effect/vitest` with `explore` and `owned`.
 *
 * @example
 * ```ts no-run
 * import { assert, describe } from "@effect/vitest"
 * import { Effect, Fiber, Ref } from "effect"
 * import { CancelCause, Cancellation, Toolkit, ToolRuntime } from "quiesce"
 * import { Invariant, Sim, Tools } from "quiesce/testing"
 * import { it } from "quiesce/testing/Vitest"
 *
 * describe("counter", () => {
 *   it.explore("loses no update, whoever is interrupted", () =>
 *     Effect.gen(function* () {
 *       const ref = yield* Ref.make(0)
 *       const increment = yield* Effect.fork(Ref.update(ref, (n) => n + 1))
 *       yield* Sim.interrupt(increment)
 *       yield* Ref.update(ref, (n) => n + 1)
 *       yield* Sim.event("updated")
 *       yield* Fiber.await(increment)
 *       return String(yield* Ref.get(ref))
 *     }), [Invariant.exactlyOnce("updated")], { expect: ["1", "2"] })
 *
 *   it.owned("waits for a tool that ignores its cancellation", () =>
 *     Effect.gen(function* () {
 *       const stubborn = yield* Tools.stubborn()
 *       yield* Effect.gen(function* () {
 *         const call = yield* ToolRuntime.start({ id: "call_1", name: "stubborn", parameters: {} })
 *         yield* stubborn.awaitStarted()
 *         yield* call.cancel(CancelCause.user())
 *         assert.strictEqual(yield* call.phase, "dispatching")
 *         yield* stubborn.release
 *         yield* call.result
 *       }).pipe(Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(stubborn.tool) })))
 *       assert.strictEqual((yield* Cancellation.cause)._tag, "None")
 *     }))
 * })
 * ```
 *
 * @since 0.1.0
 * @category testing
 */
export const it: Methods = Object.assign(inheriting, { explore, owned })
