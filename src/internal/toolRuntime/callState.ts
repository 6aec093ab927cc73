/**
 * The state of one call, from its acceptance to its publication.
 *
 * Invariants
 *
 * C1. A call is published exactly once, with one frozen result (L1).
 * C2. `dispatched` is set in the synchronous step in which the handler is called, and never unset (L2).
 * C3. Nothing starts under a call that has a cause, and nothing of its `next` after its wrappers have returned (L10, L3).
 * C4. It is published only after its owner is quiet (L3).
 * C5. The phases only go forward.
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as CancelCause from "../../CancelCause.js"
import type { Cancellation } from "../../Cancellation.js"
import type * as Policy from "../../Policy.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import { Owner } from "../cancellation/owner.js"
import { contained } from "../contained.js"
import { invariant } from "../invariant.js"
import type { Json } from "../json.js"
import type { Origin } from "../startFiber.js"
import { nowOf } from "../timer.js"
import type { Attempt, AttemptHost } from "./attemptState.js"
import type { Lane } from "./lane.js"
import { callNested, type NestedHost } from "./nested.js"
import type { NestedCall, NestedJournal } from "./nestedJournal.js"
import { NestedLane } from "./nestedLane.js"
import type { Policies, RegisteredTool } from "./registry.js"
import type { InFlight, RuntimeState } from "./runtimeState.js"

/**
 * How far a call is.
 *
 * @internal
 */
export type Phase =
  | "received"
  | "materialized"
  | "decoded"
  | "gated"
  | "dispatching"
  | "settled"
  | "reviewed"
  | "published"

const order: { readonly [P in Phase]: number } = {
  received: 0,
  materialized: 1,
  decoded: 2,
  gated: 3,
  dispatching: 4,
  settled: 5,
  reviewed: 6,
  published: 7
}

/** How many calls of one body may run at once. */
const maxNested = 10

const calls = new WeakMap<Policy.Call, CallState>()

/**
 * The call that a policy sees.
 *
 * @internal
 */
export const callOfView = (view: Policy.Call): CallState => {
  const call = calls.get(view)
  invariant(call !== undefined, "a policy was given a call that is none")
  return call
}

/**
 * The fields of a call, read once.
 *
 * @internal
 */
export type Accepted = Pick<ToolCall.ToolCall, "id" | "name" | "rootId" | "agent">

/** @internal */
export class CallState implements AttemptHost, InFlight {
  readonly runtime: RuntimeState<CallState>
  readonly id: string
  readonly rootId: string
  /** The call whose body made this one, where a body did. */
  readonly parentId: string | undefined
  readonly name: string
  readonly agent: string | undefined
  /** The caller's owner. */
  readonly caller: Owner
  /** The owner of the body that made the call, where a body did. */
  readonly body: Owner | undefined
  /** The call's own. */
  readonly owner: Owner
  readonly origin: Origin
  readonly policies: Policies
  readonly startedAt: number

  phase: Phase = "received"
  tool: RegisteredTool | undefined
  /** What the model sent, frozen; absent when it was not JSON. */
  json: Json | undefined
  /** What the handler gets. */
  parameters: unknown
  dispatched = false
  attempts = 0
  latest: Attempt | undefined
  /** The latest attempt, which is the one that counts unless a wrapper returns the result of another. */
  attempt: Attempt | undefined
  /** A deadline that passed while only a wrapper was slow: no other attempt is started under it. */
  overdue: { readonly owner: Owner; readonly cause: CancelCause.CancelCause } | undefined
  cancelledAt: number | undefined
  progress: string | undefined
  /** How it keeps to the order of its batch, if it is part of one. */
  lane: Lane | undefined
  /** Whether it has succeeded for good: a cancel that comes while it waits for its turn leaves the result alone. */
  isKept = false

  /** Keeps a log of this call, where a body made it. */
  readonly journal: NestedJournal | undefined
  /** Keeps a log of the calls that its body makes. */
  below: NestedJournal | undefined
  private nested: NestedHost | undefined
  private seen: Policy.Call | undefined

  /** Results that this call's own stages made, with the attempt that each belongs to. */
  readonly made = new Map<ToolResult.ToolResult, Attempt | undefined>()
  /** Those of them that no `after` policy is asked about: a policy has failed. */
  unreviewed: ToolResult.ToolResult | undefined
  /** The failure of a body that its result names, to tell it from those that nobody has seen. */
  namedFailure: unknown

  constructor(
    runtime: RuntimeState<CallState>,
    call: Accepted,
    caller: Owner,
    maker: Attempt | undefined,
    origin: Origin
  ) {
    this.runtime = runtime
    this.id = call.id
    const parent = maker?.host
    this.parentId = parent?.id
    this.rootId = call.rootId ?? parent?.rootId ?? call.id
    this.name = call.name
    this.agent = call.agent ?? parent?.agent
    this.caller = caller
    this.body = maker?.owner
    this.journal = parent?.below
    this.below = parent?.below
    const owner = new Owner(caller)
    this.owner = owner
    this.origin = contained(origin)
    this.policies = runtime.registry.policiesFor(call.agent)
    this.startedAt = this.now()
    owner.onCancel = () => this.cancelled()
    if (owner.cause !== undefined) this.cancelledAt = this.startedAt
  }

  now(): number {
    return nowOf(this.origin)
  }

  /** What policies see of the call. Made when one looks. */
  get view(): Policy.Call {
    if (this.seen === undefined) {
      this.seen = Object.freeze({
        id: this.id,
        rootId: this.rootId,
        parentId: this.parentId,
        tool: this.name,
        parameters: this.json,
        agent: this.agent
      })
      calls.set(this.seen, this)
    }
    return this.seen
  }

  /** Forgets what is large: a kept handle of a call must not keep what the model sent. */
  forget(): void {
    this.json = undefined
    this.parameters = undefined
    this.seen = undefined
    this.made.clear()
  }

  enter(phase: Phase): void {
    if (order[phase] < order[this.phase]) invariant(false, `a call went back from ${this.phase} to ${phase}`) // C5
    this.phase = phase
    this.runtime.changed()
  }

  get isCancelled(): boolean {
    return this.owner.cause !== undefined
  }

  /** Cancels, and says whether that may still show in the result: it is the first cause, and nothing is fixed yet. */
  cancel(cause: CancelCause.CancelCause): boolean {
    const isOpen = order[this.phase] < order.reviewed && !this.isKept // L8: a success that is kept is fixed
    return this.owner.cancel(cause) && isOpen
  }

  /** Runs a call of the body. */
  callNested(
    attempt: Attempt,
    name: string,
    parameters: unknown
  ): Effect.Effect<ToolResult.ToolResult, never, Cancellation> {
    if (this.nested === undefined) {
      let calls = 0
      this.nested = {
        id: this.id,
        runtime: this.runtime,
        lane: new NestedLane(maxNested),
        nextNumber: () => ++calls
      }
    }
    return callNested(this.nested, attempt, name, parameters)
  }

  /** Logs that the call has begun. One that cannot be logged is not dispatched: nobody would know of it (L13). */
  noteStart(): void {
    if (this.journal === undefined) return
    try {
      this.journal.started(this.asNested)
    } catch (error) {
      this.runtime.log(this, "A call of a body could not be logged, and is not run", Cause.fail(error))
      this.cancel(CancelCause.parent())
    }
  }

  noteEnd(result: ToolResult.ToolResult): void {
    if (this.journal === undefined) return
    try {
      this.journal.ended(result, this.asNested)
    } catch (error) {
      this.runtime.log(this, "The result of a call of a body could not be logged", Cause.fail(error))
    }
  }

  private get asNested(): NestedCall {
    const { id, json = null, name, parentId = id, rootId } = this
    return { id, parentId, rootId, name, parameters: json }
  }

  progressed(text: string): void {
    this.progress = text
    this.runtime.changed()
  }

  private cancelled(): void {
    this.cancelledAt = this.now()
    this.runtime.cancelled(this)
    this.runtime.changed()
  }
}
