/**
 * Runs the calls of one assistant message. What is to be done says `schedule`; here it is done.
 *
 * Invariants
 *
 * N1. Every call gets exactly one result, in model order, whatever is cancelled or breaks (L8). One that was never started
 *     goes through the runtime too, under an owner that is cancelled already, so that observers see its result (L1).
 * N2. A call that had settled before the cancel keeps its result, unless the batch is to give that up.
 * N3. The log is written in the order of the lane: a call before its gate, its result when it is published. When the log
 *     breaks, nothing more starts, and the results are still told.
 */
import * as CancelCause from "../../CancelCause.js"
import type * as ToolCall from "../../ToolCall.js"
import type * as ToolResult from "../../ToolResult.js"
import { Owner } from "../cancellation/owner.js"
import { Settlement } from "../settlement.js"
import { Lane } from "./lane.js"
import * as Schedule from "./schedule.js"

/**
 * What runs single calls.
 *
 * @internal
 */
export interface Host {
  /** Starts a call under `owner`, and calls `ended` with its published result. */
  readonly start: (
    call: ToolCall.ToolCall,
    owner: Owner,
    lane: Lane,
    ended: (result: ToolResult.ToolResult) => void
  ) => void
  readonly modeOf: (call: ToolCall.ToolCall) => Schedule.Mode
}

/** @internal */
export interface BatchOptions {
  readonly limit: number
  readonly keepsFinished: boolean
  readonly onStart: ((call: ToolCall.ToolCall, index: number) => void) | undefined
  readonly onResult: ((result: ToolResult.ToolResult, index: number) => void) | undefined
}

/** @internal */
export interface Outcome {
  readonly results: ReadonlyArray<ToolResult.ToolResult>
  /** What the log failed with first, if it failed. */
  readonly broken: { readonly error: unknown } | undefined
}

const nothing = (): void => {}

/** @internal */
export class Batch {
  readonly ended = new Settlement<Outcome>()
  private readonly calls: ReadonlyArray<ToolCall.ToolCall>
  private readonly host: Host
  private readonly options: BatchOptions
  private readonly owner: Owner
  private readonly lanes: Array<Lane | undefined> = []
  private readonly results: Array<ToolResult.ToolResult> = []
  private broken: Outcome["broken"]
  private state: Schedule.State
  private isAdvancing = false

  constructor(calls: ReadonlyArray<ToolCall.ToolCall>, caller: Owner, host: Host, options: BatchOptions) {
    this.calls = calls
    this.host = host
    this.options = options
    this.owner = new Owner(caller)
    this.state = Schedule.initial(calls.length, options.limit)
  }

  /** Starts what may start. The rest follows by itself. */
  run(): void {
    this.owner.onCancel = () => this.on({ _tag: "Stopped" })
    if (this.owner.cause === undefined) this.advance()
    else this.on({ _tag: "Stopped" })
  }

  cancel(cause: CancelCause.CancelCause): void {
    this.owner.cancel(cause)
  }

  private on(event: Schedule.Event): void {
    this.state = Schedule.transition(this.state, event)
    this.advance()
  }

  /** A command may bring about the next event in its own step: that is looked at here, not deeper down. */
  private advance(): void {
    if (this.isAdvancing) return
    this.isAdvancing = true
    for (;;) {
      const [state, command] = Schedule.decide(this.state, (index) => this.host.modeOf(this.call(index)))
      this.state = state
      if (command === undefined) break
      this.carryOut(command)
      if (command._tag === "Finish") return // for good: nothing advances any more
    }
    this.isAdvancing = false
  }

  private carryOut(command: Schedule.Command): void {
    switch (command._tag) {
      case "Start":
        return this.start(command.index)
      case "Commit":
        this.lanes[command.index]?.turn.settle()
        return
      case "Skip":
        return this.skip(command.index)
      case "Finish":
        return this.owner.conclude(() => this.ended.settle({ results: this.results, broken: this.broken }))
    }
  }

  private start(index: number): void {
    const lane = new Lane(
      this.options.keepsFinished,
      () => this.on({ _tag: "Gated", index }),
      () => this.on({ _tag: "Settled", index })
    )
    this.lanes[index] = lane
    this.startUnder(
      this.logs(() => this.options.onStart?.(this.call(index), index)) ? undefined : "stopped",
      index,
      lane
    )
  }

  private skip(index: number): void {
    this.logs(() => this.options.onStart?.(this.call(index), index))
    const lane = new Lane(this.options.keepsFinished, nothing, nothing)
    lane.turn.settle()
    this.startUnder("stopped", index, lane)
  }

  private startUnder(how: "stopped" | undefined, index: number, lane: Lane): void {
    const owner = how === undefined ? this.owner : new Owner(this.owner)
    if (how !== undefined) owner.cancel(CancelCause.parent()) // the batch's own cause, where it has one (L6)
    this.host.start(this.call(index), owner, lane, (result) => {
      if (owner !== this.owner) owner.end()
      this.results[index] = result // N1
      this.logs(() => this.options.onResult?.(result, index)) // N3
      this.on({ _tag: "Committed", index })
    })
  }

  /** Whether the log took it. */
  private logs(write: () => void): boolean {
    try {
      write()
      return true
    } catch (error) {
      this.broken ??= { error }
      this.state = Schedule.transition(this.state, { _tag: "Stopped" }) // N3
      return false
    }
  }

  private call(index: number): ToolCall.ToolCall {
    return this.calls[index] as ToolCall.ToolCall
  }
}
