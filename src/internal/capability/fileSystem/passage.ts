/**
 * Hands elements from one fiber to another, at most one ahead.
 *
 * Not a `Mailbox`: the one of Effect can lose a wake between looking for an element and waiting for it (effect 3.22, see
 * docs/effect-traps.md). Here whoever is woken looks again, and looking and registering are one operation.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { Settlement } from "../../settlement.js"

/** @internal */
export class Passage<A, E> {
  private held: Option.Option<A> = Option.none()
  private end: Exit.Exit<void, E> | undefined
  private isClosed = false
  private changed = new Settlement<void>()

  /** Waits until there is room, and says whether the element was still wanted. */
  offer(element: A): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      if (this.isClosed) return Effect.succeed(false)
      if (Option.isSome(this.held)) return Effect.zipRight(this.changed.waitTidily(), this.offer(element))
      this.held = Option.some(element)
      this.tell()
      return Effect.succeed(true)
    })
  }

  /** Waits for the next element; fails with nothing when there is none any more. */
  readonly take: Effect.Effect<A, Option.Option<E>> = Effect.suspend(() => {
    const { end, held } = this
    if (Option.isSome(held)) {
      this.held = Option.none()
      this.tell()
      return Effect.succeed(held.value)
    }
    if (end === undefined) return Effect.zipRight(this.changed.waitTidily(), this.take)
    return Exit.isSuccess(end) ? Effect.fail(Option.none()) : Effect.failCause(Cause.map(end.cause, Option.some))
  })

  /** No more comes. What is held is still handed over. */
  finish(end: Exit.Exit<void, E>): void {
    this.end ??= end
    this.tell()
  }

  /** No more is wanted. */
  close(): void {
    this.isClosed = true
    this.tell()
  }

  private tell(): void {
    const { changed } = this
    this.changed = new Settlement()
    changed.settle()
  }
}
