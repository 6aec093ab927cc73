/**
 * What is known of one attempt of a body, and what the body can say through it.
 *
 * It is what the body sees as its `ToolContext`. It closes when the body has settled: what was deferred and concluded by
 * then is final, and using it later is a defect (W8).
 */
import * as Effect from "effect/Effect"
import type { Cancellation } from "../../Cancellation.js"
import type * as Content from "../../Content.js"
import type * as Policy from "../../Policy.js"
import type * as ToolContext from "../../ToolContext.js"
import type * as ToolResult from "../../ToolResult.js"
import type { Bridge } from "../abort/bridge.js"
import type { Owner } from "../cancellation/owner.js"
import { freezeContent } from "./frozen.js"
import type { NestedJournal } from "./nestedJournal.js"

/**
 * The call that an attempt belongs to.
 *
 * @internal
 */
export interface AttemptHost {
  readonly id: string
  readonly rootId: string
  readonly name: string
  readonly agent: string | undefined
  /** Keeps a log of the calls of the body. */
  readonly below: NestedJournal | undefined
  /** The call as policies see it. */
  readonly view: Policy.Call
  attempts: number
  latest: Attempt | undefined
  readonly now: () => number
  readonly progressed: (text: string) => void
  readonly callNested: (
    attempt: Attempt,
    name: string,
    parameters: unknown
  ) => Effect.Effect<ToolResult.ToolResult, never, Cancellation>
}

/** @internal */
export class Attempt implements ToolContext.Service {
  readonly contexts: Array<Content.Content> = []
  concludes = false
  end: ToolResult.BodyEnd = "not-started"
  /** What the body itself failed with, whatever the call then ends as. */
  ownFailure: ToolResult.Reported | undefined
  outcome: ToolResult.ToolResult | undefined
  /** Whether the body had settled before anything stopped it (W4, L7). */
  settledInTime = false
  /** A promise that the handler started in its own step. Whatever becomes of the fiber, it is awaited (L3). */
  promise: Bridge<unknown> | undefined
  private isOpen = true

  readonly host: AttemptHost
  readonly owner: Owner
  readonly attempt: number
  /** The one before. It may still run: a wrapper may run its `next` twice at once. */
  readonly previous: Attempt | undefined

  constructor(host: AttemptHost, owner: Owner) {
    this.host = host
    this.owner = owner
    this.attempt = ++host.attempts
    this.previous = host.latest
    host.latest = this
  }

  get callId(): string {
    return this.host.id
  }

  get rootId(): string {
    return this.host.rootId
  }

  get tool(): string {
    return this.host.name
  }

  // Getters: a body takes these functions out of their object, and an attempt that uses none of them makes none.
  get deferContext(): ToolContext.Service["deferContext"] {
    return (content) => this.whileOpen("deferContext", () => orDie(this.defer(content)))
  }

  get concludeTurn(): Effect.Effect<void> {
    return this.whileOpen("concludeTurn", () => {
      this.concludes = true
      return Effect.void
    })
  }

  get progress(): ToolContext.Service["progress"] {
    return (text) =>
      this.whileOpen("progress", () => {
        this.host.progressed(text)
        return Effect.void
      })
  }

  get call(): ToolContext.Service["call"] {
    return (name, parameters) => this.whileOpen("call", () => this.host.callNested(this, name, parameters))
  }

  /** Defers, or says what is wrong with the content. */
  defer(content: Content.Content): string | undefined {
    const frozen = freezeContent([content])
    if (frozen === undefined) return "deferContext was given something that is not content"
    this.contexts.push(...frozen)
    return undefined
  }

  /** Says, once the body has settled, that `what` is too late (W8). */
  tooLate(what: string): string | undefined {
    return this.isOpen
      ? undefined
      : `${what} was used after attempt ${this.attempt} of call "${this.callId}" had settled`
  }

  /** Takes in the promise that the handler has started. It settles when it settles, and not when the fiber hears of it. */
  awaiting(promise: Bridge<unknown>): void {
    this.promise = promise
    promise.settlement.whenSettled(() => {
      this.settledInTime = this.owner.cause === undefined // W4
    })
  }

  /** Takes over what a call of the body wants, which has succeeded for good (L12). */
  adopt({ concludesTurn, contexts }: ToolResult.Success): void {
    if (!this.isOpen) return
    this.contexts.push(...contexts)
    this.concludes ||= concludesTurn
  }

  /** The body has settled: what it deferred and concluded is final. */
  close(): void {
    this.isOpen = false
    if (this.promise === undefined) this.settledInTime = this.owner.cause === undefined
  }

  private whileOpen<A, R>(what: string, f: () => Effect.Effect<A, never, R>): Effect.Effect<A, never, R> {
    return Effect.suspend(() => {
      const message = this.tooLate(what)
      return message === undefined ? f() : Effect.dieMessage(message) // W8
    })
  }
}

const orDie = (problem: string | undefined): Effect.Effect<void> =>
  problem === undefined ? Effect.void : Effect.dieMessage(problem)
