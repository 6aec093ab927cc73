/**
 * The views of a call, and the owner of a caller that has a signal.
 */
import type * as Policy from "../../Policy.js"
import type { AroundView, CallView } from "../../promise/Call.js"
import { Owner } from "../cancellation/owner.js"
import { type CallState, callOfView } from "../toolRuntime/callState.js"

/**
 * The owner of a caller that has given a signal.
 *
 * @internal
 */
export class CallerOwner extends Owner {
  readonly given: AbortSignal

  constructor(signal: AbortSignal) {
    super(undefined)
    this.given = signal
    this.follow(signal)
  }
}

/** The signal that the caller has given, the same object. Where none was given, that of what owns the call. */
const givenSignal = ({ body, caller }: CallState): AbortSignal => {
  if (body !== undefined) return caller.signal
  for (let owner: Owner | undefined = caller; owner !== undefined; owner = owner.parent)
    if (owner instanceof CallerOwner) return owner.given
  return caller.signal
}

const tokens = new WeakMap<Policy.Call, symbol>()

/**
 * The symbol of a call.
 *
 * @internal
 */
export const tokenOf = (call: Policy.Call): symbol => {
  let token = tokens.get(call)
  if (token === undefined) {
    token = Symbol(call.id)
    tokens.set(call, token)
  }
  return token
}

/**
 * What every view says.
 *
 * @internal
 */
export const identityOf = (call: Policy.Call) => ({
  callId: call.id,
  rootCallId: call.rootId,
  parentId: call.parentId,
  token: tokenOf(call),
  name: call.tool,
  arguments: call.parameters,
  agent: call.agent
})

const viewOf = (call: Policy.Call, signalOf: (state: CallState) => AbortSignal): CallView => {
  const state = callOfView(call)
  return Object.freeze({
    ...identityOf(call),
    get signal() {
      return signalOf(state) // made when it is read
    }
  })
}

/**
 * What a stage sees that is told when the call is stopped.
 *
 * @internal
 */
export const stoppableView = (call: Policy.Call): CallView => viewOf(call, ({ owner }) => owner.signal)

/**
 * What a stage sees that always runs to its end.
 *
 * @internal
 */
export const lastingView = (call: Policy.Call): CallView => viewOf(call, givenSignal)

/**
 * The view of one run of a wrapper, and what the wrapper has put into it.
 *
 * @internal
 */
export class Replaceable {
  readonly view: AroundView
  private readonly owner: Owner
  private replacement: AbortSignal | undefined
  private isOver = false

  /** `owner` is what the wrapper runs under: the call's own, or one that an outer wrapper derived from it. */
  constructor(call: Policy.Call, owner: Owner) {
    this.owner = owner
    const self = this
    this.view = Object.freeze({
      ...identityOf(call),
      get signal() {
        return self.replacement ?? owner.signal
      },
      set signal(signal: AbortSignal) {
        self.replace(signal)
      }
    })
  }

  /** What the wrapper wants its `next` to be stopped by as well. */
  get added(): AbortSignal | undefined {
    return this.replacement
  }

  /** The wrapper has settled: what it put here holds no longer, whatever it came to. */
  restore(): void {
    this.isOver = true
    this.replacement = undefined
  }

  private replace(signal: AbortSignal): void {
    if (!(signal instanceof AbortSignal)) throw new TypeError("the signal of a call can be replaced, and not removed") // L14
    if (this.isOver) throw new TypeError("the signal of a call was replaced after the policy that did so had settled")
    this.replacement = signal === this.owner.signal ? undefined : signal
  }
}
