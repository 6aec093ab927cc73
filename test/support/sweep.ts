/**
 * Runs a program again and again with one fault: before its 1st, 2nd, 3rd ... operation, until it ends before the fault.
 *
 * Operations of all its fibers count, those that were started inside it too: supervision is inherited. This places one
 * fault in one order of fibers; it does not reorder anything.
 */
import { Effect, type Exit, type Fiber, FiberId, FiberRef, FiberRefs, Runtime, RuntimeFlags, Supervisor } from "effect"

interface Run<A, E> {
  readonly program: Effect.Effect<A, E>
  /** What happens before the chosen operation. Default: the main fiber is interrupted. */
  readonly fault?: (main: Fiber.RuntimeFiber<A, E>) => void
}

class OperationCounter extends Supervisor.AbstractSupervisor<void> {
  override readonly value = Effect.void
  private count = 0
  private readonly at: number
  private readonly reached: () => void

  constructor(at: number, reached: () => void) {
    super()
    this.at = at
    this.reached = reached
  }

  override onEffect(): void {
    if (++this.count === this.at) this.reached()
  }

  get fired(): boolean {
    return this.count >= this.at
  }
}

const runOnce = <A, E>(run: Run<A, E>, at: number): Effect.Effect<{ readonly exit: Exit.Exit<A, E>; fired: boolean }> =>
  Effect.async((resume) => {
    let main: Fiber.RuntimeFiber<A, E> | undefined
    const fault = run.fault ?? ((fiber: Fiber.RuntimeFiber<A, E>) => fiber.unsafeInterruptAsFork(FiberId.none))
    // The program starts on a later step, so that the fault has a fiber to act on from the first operation.
    const counter = new OperationCounter(at, () => main !== undefined && fault(main))
    const { context, fiberRefs, runtimeFlags } = Runtime.defaultRuntime
    const supervised = Runtime.make({
      context,
      fiberRefs: FiberRefs.updateAs(fiberRefs, {
        fiberId: FiberId.none as unknown as FiberId.Runtime,
        fiberRef: FiberRef.currentSupervisor,
        value: counter
      }),
      runtimeFlags: RuntimeFlags.enable(runtimeFlags, RuntimeFlags.OpSupervision)
    })
    main = Runtime.runFork(supervised, run.program, { immediate: false })
    main.addObserver((exit) => resume(Effect.succeed({ exit, fired: counter.fired })))
  })

/**
 * Sweeps a fault over a program that is made anew for each run, and gives the exits of all runs, the undisturbed one last.
 * A `stride` passes over operations, where a run is dear.
 */
export const sweepWith = <A, E>(make: () => Run<A, E>, stride = 1): Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>> =>
  Effect.gen(function* () {
    const exits: Array<Exit.Exit<A, E>> = []
    for (let at = 1; ; at += stride) {
      const { exit, fired } = yield* runOnce(make(), at)
      exits.push(exit)
      if (!fired) return exits
      if (at > 20_000) return yield* Effect.dieMessage("the program does not end: a fault moves its end further away")
    }
  })

/**
 * Interrupts the main fiber of a program before each of its operations.
 */
export const sweep = <A, E>(program: Effect.Effect<A, E>, stride = 1): Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>> =>
  sweepWith(() => ({ program }), stride)
