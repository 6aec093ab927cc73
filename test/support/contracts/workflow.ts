/**
 * What every `Workflow` keeps to, seen from outside: by which steps run, and what is told of them.
 *
 * Over the keys of the service and of a run: an operation without a case here does not compile, and one that a layer has in
 * excess fails.
 */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, FiberId, Layer, Schema, Scope } from "effect"
import { CancelCause, Cancellation, Tool, Toolkit, ToolRuntime } from "quiesce"
import { Workflow } from "quiesce/capability"
import { Leaks } from "quiesce/testing"
import { settle, silently } from "../agents.js"
import { sweep, sweepWith } from "../sweep.js"

/** A provider whose steps end when the world says so. */
export interface World {
  readonly layer: Layer.Layer<Workflow.Workflow>
  /** The work of a step, until the world ends it. */
  readonly work: (step: string) => Effect.Effect<string, string>
  /** Ends a step that runs, or that will. */
  readonly end: (step: string, exit: Exit.Exit<string, string>) => Effect.Effect<unknown>
  /** The steps whose work runs, its clean-up included. */
  readonly running: () => ReadonlyArray<string>
}

export interface Setup {
  readonly maxEnded?: number
  /** What the work of a step does between being asked to stop and its end. */
  readonly whenStopped?: Effect.Effect<void>
}

export type Make = (setup: Setup) => World

type Run = Effect.Effect<unknown, Workflow.WorkflowError, Workflow.Workflow | Cancellation.Cancellation>

const user = CancelCause.user("enough")
const done = Exit.succeed("done")

/** The operations that can wait; the others answer at once. */
const waiting: {
  readonly [K in "start" | "result"]: (world: World, run: Workflow.Running<unknown, unknown>) => Run
} = {
  start: (world) => Workflow.start({ name: "second", script: world.work("second"), attachment: "detached" }),
  result: (_world, run) => run.result
}
const atOnce: {
  readonly [K in Exclude<keyof Workflow.Service | keyof Workflow.Running<0, 0>, "start" | "result">]: 0
} = { list: 0, id: 0, cancel: 0, snapshot: 0 }

const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

const detached = <A, E>(script: Effect.Effect<A, E, Workflow.Script | Cancellation.Cancellation>, name = "work") =>
  Cancellation.own(Workflow.start({ name, script, attachment: "detached" }))
const resultOf = <A, E>({ result }: Workflow.Running<A, E>) => Cancellation.own(result)

/** Steps of one run, in words. */
const inWords = (steps: ReadonlyArray<Workflow.StepEnd>): ReadonlyArray<string> =>
  steps.map(({ exit, name }) => {
    if (Exit.isSuccess(exit)) return `${name}: ${exit.value}`
    return `${name}: ${Cause.isInterruptedOnly(exit.cause) ? "cancelled" : "error"}`
  })

/** Keeps what is told of a run, and checks it: one end for each start, that of the run last. */
export class Teller {
  readonly told: Array<Workflow.Event> = []
  readonly onEvent = (event: Workflow.Event): void => void this.told.push(event)

  get inWords(): ReadonlyArray<string> {
    return this.told.map((event) => {
      const about = "name" in event ? ` ${event.name}` : ""
      return `${event._tag}${about}${"outcome" in event ? ` ${event.outcome}` : ""}`
    })
  }

  check(): void {
    const open = new Set<string>()
    for (const [index, event] of this.told.entries()) {
      const key = `${event._tag.replace(/Started|Ended/, "")} ${"step" in event ? event.step : ""}`
      if (event._tag.endsWith("Started")) {
        assert.isFalse(open.has(key), `started twice: ${key}`)
        open.add(key)
      } else assert.isTrue(open.delete(key), `an end without a start, or a second one: ${key}`)
      if (event._tag === "WorkflowEnded") assert.strictEqual(index, this.told.length - 1, "told after the end")
    }
    assert.deepStrictEqual([...open], [], "started, and never ended")
  }
}

/** Runs `body` with a service that is closed afterwards: then no step runs. */
const provided = <E>(world: World, body: Effect.Effect<unknown, E, Workflow.Workflow>) =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      return { workflows: yield* Layer.buildWithScope(world.layer, scope), close: Scope.close(scope, Exit.void) }
    }),
    ({ workflows }) => Effect.provide(body, workflows),
    ({ close }) => close
  ).pipe(Effect.tap(() => Effect.sync(() => assert.deepStrictEqual(world.running(), [], "after its layer was closed"))))

/** The tests. `make` gives a world of its own to each. */
export const itKeepsTheContract = (make: Make): void => {
  it.effect("has these operations and no others", () => {
    const world = make({})
    return provided(
      world,
      Effect.gen(function* () {
        const service = yield* Workflow.Workflow
        const run = yield* detached(Effect.void)
        const names = [...Object.keys(service), ...Object.keys(run)].sort()
        assert.deepStrictEqual(names, [...Object.keys(waiting), ...Object.keys(atOnce)].sort())
      })
    )
  })

  describe.each(Object.entries(waiting))("%s", (_name, operation) => {
    it.effect("under a cancelled owner does nothing, under an ended one dies", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const first = yield* detached(Workflow.step("first", world.work("first")))
          yield* settle
          const before = [world.running(), (yield* Workflow.list).length]
          const run = operation(world, first)
          assert.isTrue(Exit.isInterrupted(yield* Effect.exit(Cancellation.ownSignal(run, AbortSignal.abort()))))
          const ended = yield* Effect.scoped(Cancellation.ownScoped)
          const late = yield* Effect.exit(Effect.provide(run, ended))
          assert.isTrue(Exit.isFailure(late) && Cause.isDie(late.cause))
          assert.deepStrictEqual([world.running(), (yield* Workflow.list).length], before)
        })
      )
    })

    it.live("leaves no fiber, timer or listener, done or stopped", () => {
      const world = make({})
      const { signal } = new AbortController()
      const controller = new AbortController()
      const program = provided(
        world,
        Effect.gen(function* () {
          const first = yield* detached(Workflow.step("first", world.work("first")))
          const run = operation(world, first)
          const stopped = yield* Effect.fork(Cancellation.ownSignal(run, controller.signal))
          yield* settle
          controller.abort()
          yield* Fiber.await(stopped)
          yield* world.end("first", done)
          yield* Cancellation.ownSignal(run, signal)
        })
      )
      return Leaks.check(program, { signals: [signal, controller.signal] })
    })
  })

  describe("a run", () => {
    it.effect("is what its script gives, and every event is told", () => {
      const world = make({})
      const teller = new Teller()
      return provided(
        world,
        Effect.gen(function* () {
          const script = Effect.zip(Workflow.step("a", world.work("a")), Workflow.step("b", world.work("b")))
          const run = yield* Cancellation.own(
            Workflow.start({ name: "work", script, attachment: "detached", onEvent: teller.onEvent })
          )
          yield* settle
          assert.deepInclude(yield* run.snapshot, { id: run.id, status: "running", attachment: "detached" })
          assert.deepStrictEqual((yield* run.snapshot).steps, [{ name: "a", status: "running" }])
          yield* world.end("a", done)
          yield* world.end("b", Exit.succeed("too"))
          const result = yield* resultOf(run)
          assert.deepInclude(result, { outcome: "completed", value: ["done", "too"], compensations: [], escaped: [] })
          assert.deepStrictEqual(inWords(result.steps), ["a: done", "b: too"])
          assert.deepStrictEqual(teller.inWords, [
            "WorkflowStarted",
            "StepStarted a",
            "StepEnded a completed",
            "StepStarted b",
            "StepEnded b completed",
            "WorkflowEnded completed"
          ])
          assert.isTrue(teller.told.every(({ workflow }) => workflow === run.id))
          assert.deepInclude((yield* Workflow.list)[0], { status: "ended", outcome: "completed" })
          assert.strictEqual(yield* run.cancel(), "already-ended")
        })
      )
    })

    it.effect("whose script fails is an error, and the steps beside the one that failed are stopped", () => {
      const world = make({})
      const teller = new Teller()
      return provided(
        world,
        Effect.gen(function* () {
          const script = Workflow.parallel(["a", "b", "c"], (name) => Workflow.step(name, world.work(name)))
          const run = yield* Cancellation.own(
            Workflow.start({ name: "work", script, attachment: "detached", onEvent: teller.onEvent })
          )
          yield* settle
          yield* world.end("a", done)
          yield* settle
          yield* world.end("b", Exit.fail("no disk"))
          const result = yield* resultOf(run)
          assert.isTrue(
            result.outcome === "error" &&
              Cause.contains(result.cause, Cause.fail("no disk")) &&
              [...Cause.failures(result.cause)].length === 1
          )
          assert.deepStrictEqual(inWords(result.steps), ["a: done", "b: error", "c: cancelled"])
          assert.deepInclude((yield* Workflow.list)[0], { outcome: "error", error: "no disk" })
          teller.check()
        })
      )
    })

    it.effect("has no more steps at once than its limit, first come, first served", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const script = Effect.gen(function* () {
            const names = ["a", "b", "c", "d"]
            const fibers = yield* Effect.forEach(names, (name) => Effect.fork(Workflow.step(name, world.work(name))))
            const [, , third] = fibers
            yield* settle
            assert.deepStrictEqual(world.running(), ["a", "b"])
            if (third !== undefined) yield* Fiber.interrupt(third) // who stops waiting holds up nobody
            yield* world.end("b", done)
            yield* settle
            assert.deepStrictEqual(world.running(), ["a", "d"])
            yield* world.end("a", done)
            yield* world.end("d", done)
            yield* Fiber.awaitAll(fibers)
          })
          const run = yield* Cancellation.own(
            Workflow.start({ name: "work", script, attachment: "detached", concurrency: 2 })
          )
          const result = yield* resultOf(run)
          assert.strictEqual(result.outcome, "completed")
          assert.deepStrictEqual(inWords(result.steps), ["a: done", "b: done", "d: done"])
        })
      )
    })

    it.effect("attached ends with its owner, detached goes on, and closing the layer stops it", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          yield* Cancellation.own(
            Effect.gen(function* () {
              yield* Workflow.start({ name: "attached", script: Workflow.step("a", world.work("a")) })
              const script = Workflow.step("d", world.work("d"))
              yield* Workflow.start({ name: "detached", script, attachment: "detached" })
              yield* settle
              assert.deepStrictEqual(world.running(), ["a", "d"])
            })
          )
          assert.deepStrictEqual(world.running(), ["d"])
          const [attached, detached] = yield* Workflow.list
          assert.deepInclude(attached, { status: "ended", outcome: "cancelled", cause: CancelCause.parent() })
          assert.strictEqual(detached?.status, "running")
        })
      )
    })

    it.effect("of those that have ended few are remembered", () => {
      const world = make({ maxEnded: 1 })
      return provided(
        world,
        Effect.gen(function* () {
          for (const name of ["a", "b"]) yield* resultOf(yield* detached(Effect.void, name))
          assert.deepStrictEqual(
            (yield* Workflow.list).map(({ name }) => name),
            ["b"]
          )
        })
      )
    })

    it.effect("what listens to it may throw", () => {
      const world = make({})
      return silently(
        provided(
          world,
          Effect.gen(function* () {
            const onEvent = () => {
              throw new Error("no screen")
            }
            const script = Workflow.step("a", world.work("a"))
            const start = Workflow.start({ name: "work", script, attachment: "detached", onEvent })
            const run = yield* Cancellation.own(start)
            yield* world.end("a", done)
            assert.strictEqual((yield* resultOf(run)).outcome, "completed")
          })
        )
      )
    })

    it.effect("a part of it does not wait for it", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const self = yield* Deferred.make<Effect.Effect<unknown, unknown, Cancellation.Cancellation>>()
          const refused = Effect.flatMap(Deferred.await(self), (result) => Effect.flip(result))
          const run = yield* detached(Effect.zipLeft(refused, Workflow.step("a", world.work("a"))))
          yield* Deferred.succeed(self, run.result)
          yield* world.end("a", done)
          const result = yield* resultOf(run)
          assert.isTrue(result.outcome === "completed" && String(result.value).includes("would wait for itself"))
        })
      )
    })
  })

  describe("235. cancelled", () => {
    it.effect("before its script begins, that never runs", () => {
      const world = make({})
      const teller = new Teller()
      let began = false
      return provided(
        world,
        Effect.gen(function* () {
          const script = Effect.sync(() => {
            began = true
          })
          const { onEvent } = teller
          const aborted = Cancellation.ownSignal(
            Workflow.start({ name: "work", script, attachment: "detached", onEvent }),
            AbortSignal.abort()
          )
          assert.isTrue(Exit.isInterrupted(yield* Effect.exit(aborted)))
          assert.deepStrictEqual([began, teller.told, yield* Workflow.list], [false, [], []])
          // And in the step of its publication, which is before its script begins.
          const cancel = new AbortController()
          const onPublished = (event: Workflow.Event) => {
            onEvent(event)
            if (event._tag === "WorkflowStarted") cancel.abort("early")
          }
          const attached = Workflow.start({ name: "work", script, onEvent: onPublished })
          yield* Effect.exit(
            Cancellation.ownSignal(
              Effect.flatMap(attached, ({ result }) => result),
              cancel.signal
            )
          )
          assert.isFalse(began)
          assert.deepStrictEqual(teller.inWords, ["WorkflowStarted", "WorkflowEnded cancelled"])
          const [run] = yield* Workflow.list
          assert.deepInclude(run, { status: "ended", outcome: "cancelled", steps: [] })
          assert.deepStrictEqual(run?.cause, CancelCause.hostSignal("early"))
        })
      )
    })

    it.effect("all of it is: steps that run, those that wait for a place, and what completed keeps its result", () => {
      const world = make({})
      const teller = new Teller()
      return provided(
        world,
        Effect.gen(function* () {
          const script = Workflow.parallel(["a", "b", "c", "d"], (name) => Workflow.step(name, world.work(name)))
          const { onEvent } = teller
          const run = yield* Cancellation.own(
            Workflow.start({ name: "work", script, attachment: "detached", concurrency: 2, onEvent })
          )
          yield* settle
          yield* world.end("a", done)
          yield* settle
          assert.deepStrictEqual(world.running(), ["b", "c"])
          assert.strictEqual(yield* run.cancel(user), "requested")
          yield* run.cancel(CancelCause.user("again"))
          const result = yield* resultOf(run)
          assert.deepInclude(result, { outcome: "cancelled", cause: user })
          assert.deepStrictEqual(inWords(result.steps), ["a: done", "b: cancelled", "c: cancelled"])
          assert.deepStrictEqual(world.running(), [])
          teller.check()
          assert.isFalse(teller.inWords.some((words) => words.includes(" d")))
        })
      )
    })

    it.effect("a step that is ready late is refused, and nothing is told of it", () => {
      const world = make({})
      const teller = new Teller()
      return provided(
        world,
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const exits: Array<Exit.Exit<unknown, unknown>> = []
          const late = Effect.uninterruptible(
            Effect.gen(function* () {
              yield* Deferred.await(gate)
              exits.push(yield* Effect.exit(Workflow.step("late", world.work("late"))))
            })
          )
          const run = yield* Cancellation.own(
            Workflow.start({ name: "work", script: late, attachment: "detached", onEvent: teller.onEvent })
          )
          yield* settle
          yield* run.cancel(user)
          yield* Deferred.succeed(gate, undefined)
          const result = yield* resultOf(run)
          assert.deepStrictEqual(exits.map(Exit.isInterrupted), [true])
          assert.deepStrictEqual(result.steps, [])
          assert.deepStrictEqual(teller.inWords[1]?.split(" ")[0], "WorkflowEnded")
        })
      )
    })

    it.effect(
      "before any one of its operations, it is told truly: one end for each start, nothing runs after it",
      () => {
        const world = make({ whenStopped: Effect.yieldNow() })
        const seen = new Set<string>()
        return provided(
          world,
          Effect.gen(function* () {
            const workflows = yield* Effect.context<Workflow.Workflow>()
            const undone: Array<string> = []
            const exits = yield* sweepWith(() => {
              const controller = new AbortController()
              const teller = new Teller()
              undone.length = 0
              const step = (name: string) =>
                Workflow.step(name, world.work(name), {
                  compensate: () =>
                    Effect.zipRight(
                      Effect.yieldNow(),
                      Effect.sync(() => void undone.push(name))
                    )
                })
              const script = Effect.zipRight(step("a"), Workflow.parallel(["b", "c"], step))
              const program = Effect.uninterruptible(
                Effect.gen(function* () {
                  for (const name of ["a", "b", "c"]) yield* world.end(name, done)
                  const run = Workflow.run({ name: "work", script, onEvent: teller.onEvent })
                  const exit = yield* Effect.exit(Effect.interruptible(Cancellation.ownSignal(run, controller.signal)))
                  assert.strictEqual(getEventListeners(controller.signal, "abort").length, 0, "L10")
                  assert.deepStrictEqual(world.running(), [], "L3")
                  teller.check()
                  const ends = teller.told.flatMap((event) =>
                    event._tag === "StepEnded" && event.outcome === "completed" ? [event.name] : []
                  )
                  const last = teller.told.at(-1)
                  if (last?._tag !== "WorkflowEnded") {
                    assert.deepStrictEqual(teller.told, [])
                    seen.add("nothing")
                    return yield* exit
                  }
                  assert.deepStrictEqual(
                    undone,
                    last.outcome === "completed" ? [] : ends.reverse(),
                    "all of it, in reverse"
                  )
                  seen.add(`${last.outcome} ${undone.length}`)
                  return yield* exit
                }).pipe(Effect.provide(workflows))
              )
              return { program, fault: () => controller.abort() }
            })
            assert.deepStrictEqual(
              exits.filter((exit) => !isClean(exit)),
              []
            )
            assert.includeMembers([...seen], ["nothing", "cancelled 0", "cancelled 1", "cancelled 2", "completed 0"])
          })
        )
      }
    )
  })

  describe("236. a parked script", () => {
    it.effect("ends when it is cancelled", () =>
      provided(
        make({}),
        Effect.gen(function* () {
          const run = yield* detached(Effect.never)
          yield* settle
          yield* run.cancel(user)
          assert.deepInclude(yield* resultOf(run), { outcome: "cancelled", cause: user })
        })
      )
    )

    it.effect("that ignores it is waited for, and can be seen: no end is told before there is one", () => {
      const teller = new Teller()
      return provided(
        make({}),
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          const run = yield* Cancellation.own(
            Workflow.start({
              name: "work",
              script: Effect.uninterruptible(Deferred.await(gate)),
              attachment: "detached",
              onEvent: teller.onEvent
            })
          )
          yield* settle
          yield* run.cancel(user)
          const waiter = yield* Effect.fork(resultOf(run))
          yield* settle
          assert.isNull(waiter.unsafePoll())
          assert.deepInclude(yield* run.snapshot, { status: "stopping", cause: user })
          assert.deepStrictEqual(teller.inWords, ["WorkflowStarted"])
          yield* Deferred.succeed(gate, undefined)
          assert.notStrictEqual((yield* Fiber.join(waiter)).outcome, "error")
          teller.check()
        })
      )
    })
  })

  describe("start", () => {
    it.effect("interrupted before any one of its operations, the run is listed, or nothing of it has begun", () => {
      const world = make({})
      const seen = new Set<string>()
      const program = Effect.scoped(
        Effect.gen(function* () {
          const workflows = yield* Layer.build(Layer.fresh(world.layer))
          return yield* Effect.uninterruptibleMask((restore) =>
            Effect.gen(function* () {
              let began = false
              const script = Effect.suspend(() => {
                began = true
                return Effect.never
              })
              const exit = yield* Effect.exit(restore(detached(script)))
              yield* settle
              const runs = yield* Workflow.list
              assert.strictEqual(began, runs.length === 1, "L9: what runs is known")
              if (Exit.isSuccess(exit)) assert.strictEqual(runs[0]?.id, exit.value.id)
              seen.add(`${exit._tag} ${runs.length}`)
              return yield* exit
            }).pipe(Effect.provide(workflows))
          )
        })
      )
      return Effect.gen(function* () {
        const exits = yield* sweep(program)
        assert.deepStrictEqual(
          exits.filter((exit) => !isClean(exit)),
          []
        )
        assert.includeMembers([...seen], ["Success 1", "Failure 0"])
      })
    })
  })

  describe("compensation", () => {
    const undoing = (
      world: World,
      undone: Array<string>,
      name: string,
      undo: Effect.Effect<void, string> = Effect.void
    ) =>
      Workflow.step(name, world.work(name), {
        compensate: (value) =>
          Effect.zipRight(
            Effect.sync(() => void undone.push(`${name} ${value}`)),
            undo
          )
      })

    it.effect("undoes what had completed, last first, and tells what could not be undone beside why", () => {
      const world = make({})
      const undone: Array<string> = []
      const teller = new Teller()
      return silently(
        provided(
          world,
          Effect.gen(function* () {
            for (const name of ["a", "b", "c"]) yield* world.end(name, Exit.succeed(name.toUpperCase()))
            yield* world.end("d", Exit.fail("no disk"))
            const script = Effect.gen(function* () {
              yield* undoing(world, undone, "a")
              yield* undoing(world, undone, "b", Effect.fail("it is sold"))
              yield* Workflow.step("c", world.work("c"))
              yield* undoing(world, undone, "d")
            })
            const { onEvent } = teller
            const run = yield* Cancellation.own(
              Workflow.start({ name: "work", script, attachment: "detached", onEvent })
            )
            const result = yield* resultOf(run)
            assert.isTrue(result.outcome === "error" && Cause.contains(result.cause, Cause.fail("no disk")))
            assert.deepStrictEqual(undone, ["b B", "a A"])
            assert.deepStrictEqual(
              result.compensations.map(({ exit, name }) => `${name} ${exit._tag}`),
              ["b Failure", "a Success"]
            )
            assert.deepInclude((yield* run.snapshot).compensations, {
              name: "b",
              status: "error",
              error: "it is sold"
            })
            teller.check()
            assert.include(teller.inWords, "CompensationEnded b error")
            const failed = yield* Effect.flip(Cancellation.own(Workflow.run({ name: "work", script })))
            assert.instanceOf(failed, Workflow.CompensationFailed)
            assert.match(failed.message, /^Workflow "work-2" failed: no disk\. Not undone: "b": it is sold$/)
          })
        )
      )
    })

    it.effect("is not run where the script has completed", () => {
      const world = make({})
      const undone: Array<string> = []
      return provided(
        world,
        Effect.gen(function* () {
          yield* world.end("a", done)
          const run = yield* detached(Effect.zipRight(undoing(world, undone, "a"), Effect.void))
          assert.deepInclude(yield* resultOf(run), { outcome: "completed", compensations: [] })
          assert.deepStrictEqual(undone, [])
        })
      )
    })

    it.effect("is out of reach of a cancel, which does not rewrite why it runs, and can limit its own time", () => {
      const world = make({})
      const undone: Array<string> = []
      return provided(
        world,
        Effect.gen(function* () {
          const gate = yield* Deferred.make<void>()
          yield* world.end("a", done)
          yield* world.end("b", done)
          const limited = Effect.timeoutOption(Effect.never, 5)
          const script = Effect.gen(function* () {
            yield* undoing(world, undone, "a", Effect.asVoid(Effect.fork(limited)))
            yield* undoing(world, undone, "b", Deferred.await(gate))
            return yield* Effect.fail("no disk")
          })
          const run = yield* detached(script)
          yield* settle
          assert.strictEqual((yield* run.snapshot).status, "compensating")
          yield* run.cancel(user)
          yield* settle
          assert.deepInclude(yield* run.snapshot, { status: "compensating", cause: user })
          yield* Deferred.succeed(gate, undefined)
          const result = yield* resultOf(run)
          assert.strictEqual(result.outcome, "error")
          assert.deepStrictEqual(undone, ["b done", "a done"])
        })
      )
    })

    it.effect("of a run that is cancelled with its caller, a failure is not lost on the way", () => {
      const world = make({})
      return silently(
        provided(
          world,
          Effect.gen(function* () {
            yield* world.end("a", done)
            const script = Effect.zipRight(undoing(world, [], "a", Effect.fail("it is sold")), Effect.never)
            const workflow = Tool.make("work", {
              description: "Runs it",
              parameters: {},
              success: Schema.Unknown,
              failure: Schema.Union(Workflow.WorkflowError, Workflow.CompensationFailed, Schema.String),
              handler: () => Workflow.run({ name: "work", script })
            })
            const controller = new AbortController()
            const result = yield* Effect.gen(function* () {
              const call = ToolRuntime.execute({ id: "c1", name: "work", parameters: {} })
              const fiber = yield* Effect.fork(Cancellation.ownSignal(call, controller.signal))
              yield* settle
              controller.abort()
              return yield* Fiber.join(fiber)
            }).pipe(Effect.provide(ToolRuntime.layer({ toolkit: Toolkit.make(workflow) })))
            assert.deepInclude(result, { _tag: "Failure", code: "WORKFLOW_COMPENSATION_FAILED" })
            assert.include(result._tag === "Failure" ? result.message : "", `Not undone: "a": it is sold`)
          })
        )
      )
    })
  })

  describe("a step", () => {
    it.effect("ends when nothing is left of what was started under it", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const gone: Array<string> = []
          const child = Effect.onExit(Cancellation.operation(Effect.never, "child"), () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => void gone.push("child"))
            )
          )
          const left = Effect.ensuring(Effect.forkDaemon(child), Effect.yieldNow())
          const teller = new Teller()
          const onEvent = (event: Workflow.Event) => {
            teller.onEvent(event)
            if (event._tag === "StepEnded") gone.push("step")
          }
          // The steps of a script that replaces none: a fake runs the same.
          const script = Effect.zipRight(Workflow.step("a", world.work("a")), left)
          const run = yield* Cancellation.own(Workflow.start({ name: "work", script, attachment: "detached", onEvent }))
          yield* world.end("a", done)
          assert.strictEqual((yield* resultOf(run)).outcome, "completed")
          assert.deepStrictEqual(gone, ["step", "child"])
          assert.strictEqual(teller.inWords.at(-1), "WorkflowEnded completed")
        })
      )
    })

    it.effect("outside of its script is a defect, and does nothing", () => {
      const world = make({})
      return provided(
        world,
        Effect.gen(function* () {
          const script = yield* Deferred.make<Workflow.ScriptService>()
          yield* resultOf(yield* detached(Effect.flatMap(Workflow.Script, (made) => Deferred.succeed(script, made))))
          const late = (yield* Deferred.await(script)).step("late", world.work("late"))
          const exit = yield* Effect.exit(Cancellation.own(late))
          assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
          assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /outside of the script/)
        })
      )
    })
  })
}

/** A helper of worlds: work that ends when it is told to. */
export class Works {
  private readonly ends = new Map<string, Deferred.Deferred<string, string>>()
  private readonly alive: Array<string> = []
  private readonly whenStopped: Effect.Effect<void>

  constructor({ whenStopped = Effect.void }: Setup) {
    this.whenStopped = whenStopped
  }

  get running(): ReadonlyArray<string> {
    return [...this.alive]
  }

  of(step: string): Effect.Effect<string, string> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.alive.push(step)),
      () => Effect.onInterrupt(Deferred.await(this.endOf(step)), () => this.whenStopped),
      () => Effect.sync(() => this.alive.splice(this.alive.indexOf(step), 1))
    )
  }

  end(step: string, exit: Exit.Exit<string, string>): Effect.Effect<unknown> {
    return Effect.suspend(() => Deferred.done(this.endOf(step), exit))
  }

  private endOf(step: string): Deferred.Deferred<string, string> {
    const end = this.ends.get(step) ?? Deferred.unsafeMake<string, string>(FiberId.none)
    this.ends.set(step, end)
    return end
  }
}
