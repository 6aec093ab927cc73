/**
 * Streams as async iterables, and async iterables as streams.
 *
 * Invariants
 *
 * I1. A stream runs as one operation with one owner, from the first `next` to the last finaliser, and each promise settles
 *     only when nothing more is to come of it: the last one when the stream has ended (L3).
 * I2. Nothing is pulled that nobody waits for.
 * I3. After an abort no element is given any more, also none that was there.
 * I4. An iterable that was begun is ended: its `return` is called once, and awaited, by whoever stops (L4).
 * I5. From its first `next` to its end an iterator is a member of the owner under which it was begun (L14).
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Abort from "../../Abort.js"
import * as CancelCause from "../../CancelCause.js"
import { type Cancellation, ownerIn } from "../../Cancellation.js"
import { onAbort } from "../abortListener.js"
import { isCancellation } from "../cancellation/classify.js"
import type { Member, Owner } from "../cancellation/owner.js"
import { report } from "../report.js"
import { Settlement } from "../settlement.js"
import { SignalChild } from "./signalChild.js"

/**
 * How an effect is run.
 *
 * @internal
 */
export type Run = <A, E>(effect: Effect.Effect<A, E, Cancellation>, signal: AbortSignal) => Promise<A>

type Step<A> = IteratorResult<A, undefined>

const done: Step<never> = { done: true, value: undefined }

/** What a consumer that takes no more stops a stream with. */
const returned: unique symbol = Symbol("no more elements are wanted")

class StreamIterator<A, E> implements AsyncIterator<A, undefined> {
  private readonly child: SignalChild
  private readonly stream: Stream.Stream<A, E, Cancellation>
  private readonly run: Run
  private running: Promise<void> | undefined
  private last: Promise<unknown> = Promise.resolve()
  private ready: ReadonlyArray<A> = []
  private at = 0
  private wanted = new Settlement<void>()
  /** What the consumer waits for, while it does. */
  private waiting: { readonly resolve: (step: Step<A>) => void; readonly reject: (error: unknown) => void } | undefined
  private end: { readonly error: unknown } | "ended" | undefined

  constructor(stream: Stream.Stream<A, E, Cancellation>, run: Run, signals: ReadonlyArray<AbortSignal>) {
    this.stream = stream
    this.run = run
    this.child = new SignalChild(signals)
  }

  next(): Promise<Step<A>> {
    const step = this.last.then(() => this.step())
    this.last = step.catch(() => {})
    return step
  }

  async return(): Promise<Step<A>> {
    this.child.abort(returned)
    await this.running?.catch(() => {}) // I1
    const { end } = this
    this.end = "ended"
    if (typeof end === "object" && end.error !== this.child.signal.reason) throw end.error
    return done
  }

  private step(): Promise<Step<A>> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject }
      if (this.running === undefined) this.begin()
      if (this.end !== undefined) return this.tell()
      const element = this.at < this.ready.length && !this.child.isAborted // I3
      if (element) return this.give(this.ready[this.at++] as A)
      this.wanted.settle() // I2
    })
  }

  private begin(): void {
    if (this.end !== undefined) return
    this.running = this.run(this.drive(), this.child.signal)
    this.running.then(
      () => this.ended("ended"),
      (error) => this.ended({ error })
    )
  }

  private ended(end: { readonly error: unknown } | "ended"): void {
    this.child.dispose()
    this.end ??= end
    this.tell()
  }

  /** Tells whoever waits of the end: of a failure once, behind which there is nothing more. */
  private tell(): void {
    const { end, waiting } = this
    if (waiting === undefined || end === undefined) return
    this.waiting = undefined
    this.end = "ended"
    if (end === "ended" || end.error === returned) waiting.resolve(done)
    else waiting.reject(end.error)
  }

  private give(value: A): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.resolve({ done: false, value })
  }

  private drive(): Effect.Effect<void, E, Cancellation> {
    const self = this
    return Effect.scoped(
      Effect.gen(function* () {
        const pull = yield* Stream.toPull(self.stream)
        while (true) {
          yield* self.wanted.wait()
          const elements = yield* pull
          if (Chunk.isEmpty(elements)) continue
          self.ready = Chunk.toReadonlyArray(elements)
          self.at = 1
          self.wanted = new Settlement()
          self.give(self.ready[0] as A)
        }
      })
    ).pipe(Effect.catchAll(Option.match({ onNone: () => Effect.void, onSome: (error) => Effect.fail(error) })))
  }
}

/**
 * A stream as an async iterable, each iteration of which is a run of its own.
 *
 * @internal
 */
export const toIterable = <A, E>(
  stream: Stream.Stream<A, E, Cancellation>,
  run: Run,
  ...signals: ReadonlyArray<AbortSignal>
): AsyncIterable<A> => ({
  [Symbol.asyncIterator]: () => new StreamIterator(stream, run, signals)
})

class Reading<A> implements Member {
  readonly closed = new Settlement<void>()
  private readonly child = new SignalChild([])
  private readonly owner: Owner
  private iterator: AsyncIterator<A> | undefined
  private isOver = false

  constructor(owner: Owner) {
    this.owner = owner
  }

  async next(iterable: (signal: AbortSignal) => AsyncIterable<A>, signal: AbortSignal): Promise<IteratorResult<A>> {
    const unlisten = onAbort(signal, (reason) => this.child.abort(reason))
    try {
      if (this.iterator === undefined) {
        this.iterator = iterable(this.child.signal)[Symbol.asyncIterator]()
        this.owner.join(this) // I5
      }
      const step = await this.iterator.next()
      if (step.done === true) this.isOver = true
      return step
    } catch (error) {
      this.isOver = true // one that has thrown has ended
      throw error
    } finally {
      unlisten()
    }
  }

  cancelled(cause: CancelCause.CancelCause): void {
    this.child.abort(CancelCause.toReason(cause))
  }

  stop(): void {
    this.cancelled(CancelCause.parent())
    this.close()
  }

  close(): void {
    if (this.closing) return
    this.closing = true
    const left = () => {
      this.child.dispose()
      this.owner.leave(this)
      this.closed.settle()
    }
    if (this.iterator === undefined) return left()
    // I4: behind a `next` that still runs, as iterators of generators do.
    const { iterator } = this
    new Promise((resolve) => resolve(this.isOver ? undefined : iterator.return?.())).then(left, (error) => {
      const { signal } = this.child
      if (!signal.aborted || !isCancellation(error, CancelCause.hostSignal(signal.reason))) {
        report("An async iterable failed while it was being ended", Cause.fail(error)) // L10
      }
      left()
    })
  }

  private closing = false
}

/**
 * An async iterable as a stream. It is made when the stream runs, with a signal that follows the owner.
 *
 * @internal
 */
export const fromIterable = <A, E>(
  iterable: (signal: AbortSignal) => AsyncIterable<A>,
  onError: (error: unknown) => E
): Stream.Stream<A, E, Cancellation> =>
  Stream.unwrapScoped(
    Effect.map(
      Effect.acquireRelease(
        Effect.withFiberRuntime<Reading<A>, never, Cancellation>((fiber) =>
          Effect.sync(() => new Reading<A>(ownerIn(fiber.currentContext)))
        ),
        (reading) =>
          Effect.suspend(() => {
            reading.close()
            return reading.closed.wait()
          })
      ),
      (reading) =>
        Stream.repeatEffectOption(
          Effect.flatMap(
            Abort.fromPromise({
              try: ({ signal }) => reading.next(iterable, signal),
              catch: (error) => Option.some(onError(error))
            }),
            (step): Effect.Effect<A, Option.Option<E>> =>
              step.done === true ? Effect.fail(Option.none()) : Effect.succeed(step.value)
          )
        )
    )
  )
