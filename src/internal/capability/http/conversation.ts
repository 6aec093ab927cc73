/**
 * One operation: the time that it has, and the one connection that it holds.
 *
 * Invariants
 *
 * H1. At most one exchange is open. The next one is opened when the last is closed (L3).
 * H2. The first of its end, its failure, the time and a stop counts; whatever comes later changes nothing (L6, L7).
 * H3. Nothing is opened after the time is over.
 * H4. When it is closed no timer is left, the connection is closed, the source of an upload is finalised, and it is a
 *     member of no owner (L3, L10).
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type { Member, Owner } from "../../cancellation/owner.js"
import { Settlement, waitOrStop } from "../../settlement.js"
import type { Origin } from "../../startFiber.js"
import { maxTimerMillis, nowOf, startTimer } from "../../timer.js"
import {
  done,
  type Exchange,
  failed,
  type Outcome,
  type Outgoing,
  type Problem,
  stopped,
  type Transport
} from "./transport.js"

const closedMessage =
  "The body of a response was read when it was dropped or its scope had closed: read it before, or use `text` or `stream`"

/** @internal */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** @internal */
export class Conversation implements Member {
  readonly origin: Origin
  /** Where the request is now: behind the redirects so far. */
  url: URL
  private readonly transport: Transport
  private exchange: Exchange | undefined
  private upload: Fiber.RuntimeFiber<void> | undefined
  private timeIsOver: Problem | undefined
  private disarm: (() => void) | undefined
  private pause: Settlement<Outcome<void>> | undefined
  private isClosed = false
  private readonly endsAt: number
  private readonly owner: Owner | undefined

  /** Must be closed by whoever makes it. */
  constructor(transport: Transport, url: URL, origin: Origin, owner: Owner, timeoutMillis: number | undefined) {
    this.transport = transport
    this.url = url
    this.origin = origin
    // An owner that is ending waits for the clean-up that runs this, and that for its scope.
    this.owner = owner.isEnding ? undefined : owner
    this.endsAt = nowOf(origin) + (timeoutMillis ?? Number.POSITIVE_INFINITY)
    if (timeoutMillis === undefined) return
    this.disarm = startTimer(origin, timeoutMillis, () => {
      this.timeIsOver = { reason: "TimedOut", detail: `it was not done after ${timeoutMillis} milliseconds` }
      this.end(failed(this.timeIsOver)) // H2
    })
  }

  /** Opens a connection, and has `upload` (its body, if that is a stream) run by a fiber. */
  open(
    outgoing: Outgoing,
    upload: (exchange: Exchange) => Fiber.RuntimeFiber<void> | undefined
  ): Effect.Effect<Exchange, Problem> {
    return Effect.suspend(() => {
      const refused = this.timeIsOver ?? this.transport.admit(outgoing.url)
      if (refused !== undefined) return Effect.fail(refused) // H3
      const exchange = this.transport.open(outgoing, this.origin)
      this.exchange = exchange
      this.upload = upload(exchange)
      return Effect.succeed(exchange)
    })
  }

  /**
   * Waits for something of the exchange. An interruption closes the connection, and is seen when that is closed; so is
   * a failure. Must run in a protected region, of which `restore` is.
   */
  await<A>(settlement: Settlement<Outcome<A>>, restore: Restore): Effect.Effect<A, Problem> {
    let interruption: Cause.Cause<never> | undefined
    const stop = (cause: Cause.Cause<never>): void => {
      interruption = cause
      this.stopAll() // L3
    }
    const wait = Effect.matchCauseEffect(restore(Effect.void), {
      // Also where nothing has to be waited for: a body that comes faster than it is read would be read to its end.
      onFailure: (cause) => {
        stop(cause)
        return settlement.wait()
      },
      onSuccess: () => waitOrStop(settlement, restore, stop)
    })
    return Effect.flatMap(wait, (outcome) => {
      if (outcome._tag === "Failed") return Effect.zipRight(this.drop, Effect.fail(outcome.problem)) // H2, L5
      if (interruption !== undefined) return Effect.zipRight(this.drop, Effect.failCause(interruption))
      if (outcome._tag === "Done") return Effect.succeed(outcome.value)
      return this.isClosed ? Effect.dieMessage(closedMessage) : Effect.interrupt
    })
  }

  /** Waits, without a connection, between two attempts. */
  wait(millis: number, restore: Restore): Effect.Effect<void, Problem> {
    return Effect.suspend(() => {
      const over = new Settlement<Outcome<void>>()
      if (this.timeIsOver !== undefined) over.settle(failed(this.timeIsOver)) // H3
      this.pause = over
      // One that is longer than the host can wait would be over at once.
      const part = Math.min(millis, maxTimerMillis)
      const disarm = startTimer(this.origin, part, () => over.settle(done(undefined)))
      const waited = Effect.ensuring(this.await(over, restore), Effect.sync(disarm)) // H4
      return millis > part ? Effect.zipRight(waited, this.wait(millis - part, restore)) : waited
    })
  }

  /** How long it is until the time is over. */
  get millisLeft(): number {
    return this.endsAt - nowOf(this.origin)
  }

  /** Closes the connection, and waits until it is closed and the source of its upload is finalised. */
  readonly drop: Effect.Effect<void> = Effect.suspend(() => {
    const { exchange, upload } = this
    if (exchange === undefined) return Effect.void
    exchange.end(stopped)
    const finalised = upload === undefined ? Effect.void : Fiber.interrupt(upload)
    return Effect.uninterruptible(Effect.zipRight(finalised, exchange.closed.wait())) // H1
  })

  /** The body has been read: what is left has no time limit. */
  finished(): void {
    this.disarm?.()
  }

  /** Closes everything. Again and again it is the same as once. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isClosed = true
    this.stopAll()
    this.disarm?.() // H4
    return Effect.zipRight(
      this.drop, // H4
      Effect.sync(() => this.owner?.leave(this)) // H4
    )
  })

  /** Makes it end with its owner at the latest (L3): a response outlasts the operation that made it. */
  stayOpen(): void {
    this.owner?.join(this)
  }

  cancelled(): void {
    // Whoever reads is interrupted, and the rest is the scope's: in a protected region a response stays readable.
  }

  stop(): void {
    const { exchange, owner, upload } = this
    this.stopAll()
    this.disarm?.()
    const leave = (): void => exchange?.closed.whenSettled(() => owner?.leave(this))
    if (upload === undefined) return leave()
    upload.addObserver(leave)
    upload.unsafeInterruptAsFork(FiberId.none)
  }

  private stopAll(): void {
    this.end(stopped)
  }

  private end(outcome: Outcome<never>): void {
    this.exchange?.end(outcome)
    this.pause?.settle(outcome)
  }
}
