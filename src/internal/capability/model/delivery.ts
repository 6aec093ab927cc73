/**
 * What stands between the stream of a provider and its consumer.
 *
 * A stream runs on whatever fiber pulls it, and between two pulls on none, so there would be nothing that an owner could
 * stop and wait for. Here one fiber runs the provider for as long as that lasts, and hands over each element when it is
 * asked for.
 *
 * Invariants
 *
 * D1. The fiber of the provider is an operation of the owner, from the request to the last finaliser (L3, L14).
 * D2. It pulls only while the consumer waits for an element.
 * D3. Nothing is handed over once the owner is cancelled.
 * D4. Exactly one last element is handed over, when the fiber has ended, and nothing behind it.
 * D5. Whoever stops the consumer stops the fiber, and waits until it has ended (L4).
 * D6. The watchdog runs only while the fiber pulls, and begins anew with each piece that comes, an empty one too.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as FiberStatus from "effect/FiberStatus"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as Cancellation from "../../../Cancellation.js"
import type { Owner } from "../../cancellation/owner.js"
import { report } from "../../report.js"
import { Settlement } from "../../settlement.js"
import { type Origin, originOf, startFiber } from "../../startFiber.js"
import { startTimer } from "../../timer.js"

/**
 * A stream of a provider, and what its elements mean.
 *
 * @internal
 */
export interface Provided<A, R> {
  /** For messages: what the operation does. */
  readonly name: string
  readonly stream: Stream.Stream<A, never, R | Cancellation.Cancellation>
  /** What the provider was built with. */
  readonly context: Context.Context<R>
  readonly isLast: (element: A) => boolean
  /** The last element where the provider gave none: it ended by itself, or failed with a defect or an interruption. */
  readonly lastOf: (exit: Exit.Exit<void>) => A
  /** How long a pull may take, and the last element where one took longer. */
  readonly watchdog: { readonly millis: number; readonly last: A } | undefined
}

class Delivery<A, R> {
  private readonly provided: Provided<A, R>
  private readonly owner: Owner
  private readonly origin: Origin
  private readonly fiber: Fiber.RuntimeFiber<void>
  private readonly ended = new Settlement<Exit.Exit<void>>()
  private ready: ReadonlyArray<A> = []
  private handedOver = 0
  private last: Option.Option<A> = Option.none()
  private isOver = false
  private isDropped = false
  /** What the consumer waits for, while it does. */
  private reply: Settlement<void> | undefined
  private wanted = new Settlement<void>()
  private disarm: (() => void) | undefined
  private isIdle = false

  constructor(provided: Provided<A, R>, owner: Owner, origin: Origin) {
    this.provided = provided
    this.owner = owner
    this.origin = origin
    const drive = Cancellation.operation(this.drive(), provided.name) // D1
    this.fiber = startFiber(drive, contextOf(provided.context, owner, origin), origin)
    this.fiber.addObserver((exit) => {
      this.disarm?.() // L3
      this.ended.settle(exit)
      this.answer()
    })
  }

  private drive(): Effect.Effect<void, never, R | Cancellation.Cancellation> {
    const self = this
    return Effect.gen(function* () {
      const pull = yield* Stream.toPull(self.provided.stream)
      while (Option.isNone(self.last)) {
        yield* self.wanted.wait() // D2
        self.watch()
        self.take(yield* pull)
      }
    }).pipe(
      Effect.scoped,
      Effect.catchAll(() => Effect.void) // the end of the provider's stream
    )
  }

  private watch(): void {
    const { watchdog } = this.provided
    if (watchdog === undefined) return
    this.disarm = startTimer(this.origin, watchdog.millis, () => {
      this.isIdle = true
      this.stop()
    })
  }

  private stop(): void {
    this.fiber.unsafeInterruptAsFork(FiberId.none)
  }

  private take(elements: Chunk.Chunk<A>): void {
    this.disarm?.() // D6
    const all = Chunk.toReadonlyArray(elements)
    const end = all.findIndex(this.provided.isLast)
    if (end !== -1) this.last = Option.some(all[end] as A)
    this.ready = end === -1 ? all : all.slice(0, end) // D4
    this.handedOver = 0
    this.wanted = new Settlement()
    this.answer()
  }

  private answer(): void {
    const reply = this.reply
    this.reply = undefined
    reply?.settle()
  }

  /** Whether the fiber was stopped from this side, so that its interruption is no failure of the provider. */
  private get isStopped(): boolean {
    return this.isDropped || this.owner.cause !== undefined || this.owner.isEnding
  }

  /** The next element, alone: between two of them the owner may be cancelled. */
  readonly pull: Effect.Effect<Chunk.Chunk<A>, Option.Option<never>> = Effect.suspend(() => {
    if (this.owner.cause !== undefined) return Effect.zipRight(this.ended.wait(), Effect.interrupt) // D3
    if (this.handedOver < this.ready.length) return Effect.succeed(Chunk.of(this.ready[this.handedOver++] as A))
    if (this.isOver) return Effect.fail(Option.none()) // D4
    if (!this.ended.isSettled) {
      this.reply ??= new Settlement()
      this.wanted.settle()
      return Effect.zipRight(this.reply.wait(), this.pull)
    }
    return Effect.flatMap(this.ended.wait(), (exit) => {
      const isInterrupted = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
      if (isInterrupted && this.isStopped) return Effect.interrupt
      this.isOver = true
      if (Exit.isFailure(exit)) this.warn(exit.cause)
      return Effect.succeed(Chunk.of(Option.getOrElse(this.last, () => this.lastOf(exit))))
    })
  })

  private lastOf(exit: Exit.Exit<void>): A {
    const { lastOf, watchdog } = this.provided
    return this.isIdle && watchdog !== undefined ? watchdog.last : lastOf(exit)
  }

  /** Stops the provider, if it still runs, and waits until it has ended. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isDropped = true
    this.stop() // D5
    return Effect.map(this.ended.wait(), (exit) => {
      // Of a cancelled owner it is known already: an operation leaves its failures there.
      if (Exit.isFailure(exit) && !this.isOver && this.owner.cause === undefined) this.warn(exit.cause)
    })
  })

  private warn(cause: Cause.Cause<never>): void {
    if (!Cause.isInterruptedOnly(cause)) report(`"${this.provided.name}" failed`, cause, this.origin)
  }
}

// The caller's owner and span over what the provider was built with, and nothing else of the caller's.
const contextOf = <R>(
  built: Context.Context<R>,
  owner: Owner,
  { parentSpan }: Origin
): Context.Context<R | Cancellation.Cancellation> => {
  const owned = Context.add(built, Cancellation.Cancellation, Cancellation.toService(owner))
  return parentSpan === undefined
    ? (Context.omit(Tracer.ParentSpan)(owned) as typeof owned)
    : Context.add(owned, Tracer.ParentSpan, parentSpan)
}

/**
 * Streams what a provider gives, under the owner of whoever runs it.
 *
 * Each run of it runs the provider anew. It ends with one last element; when its owner is cancelled or ends, as
 * interrupted. In both cases the provider has ended before.
 *
 * @internal
 */
export const deliver = <A, R>(provided: Provided<A, R>): Stream.Stream<A, never, Cancellation.Cancellation> => {
  const open: Effect.Effect<Delivery<A, R>, never, Cancellation.Cancellation | Scope.Scope> = Effect.acquireRelease(
    Effect.withFiberRuntime<Delivery<A, R>>((fiber, status: FiberStatus.Running) => {
      const owner = Cancellation.ownerIn(fiber.currentContext)
      return owner.hasEnded
        ? Effect.dieMessage(Cancellation.endedMessage(`"${provided.name}"`)) // L14
        : Effect.succeed(new Delivery(provided, owner, originOf(fiber, status)))
    }),
    (delivery) => delivery.close
  )
  return Stream.fromPull(Effect.map(open, ({ pull }) => pull))
}
