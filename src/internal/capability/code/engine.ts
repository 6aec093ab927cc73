/**
 * What runs code, seen from the service: a process, or a script of a test.
 */
import type * as CodeRuntime from "../../../capability/CodeRuntime.js"
import type { Settlement } from "../../settlement.js"
import type { Origin } from "../../startFiber.js"

/** Code, and its limits. */
export interface Job {
  readonly code: string
  /** The names of its bindings. */
  readonly names: ReadonlyArray<string>
  readonly maxMemoryMb: number
  readonly maxOutputBytes: number
  readonly maxLogBytes: number
  readonly maxCalls: number
}

/** Why code has no value. */
export type Problem = Pick<CodeRuntime.CodeError, "reason" | "detail" | "line" | "stack">

/** What code has come to. */
export type Outcome =
  | { readonly _tag: "Value"; readonly json: string }
  | { readonly _tag: "Failed"; readonly problem: Problem }

/** What becomes of a call: its value, or what is thrown, as JSON. */
export interface Answer {
  readonly isValue: boolean
  readonly json: string
}

/** Is told of what the code does: not in the step in which it is started, and not after it has ended. */
export interface Listener {
  readonly logged: (log: CodeRuntime.Log) => void
  readonly logsTruncated: () => void
  /** The code calls a binding. No more than `maxCalls` wait for their answer. */
  readonly called: (id: number, name: string, json: string) => void
  readonly settled: (outcome: Outcome) => void
}

/** The end of a place in which code ran. */
export interface Ending {
  /** Why the code has not settled, where it has not. */
  readonly problem: Problem
  /** What could not be stopped, in words. */
  readonly escaped: ReadonlyArray<string>
}

/** The place in which code runs. */
export interface Place {
  /** Settles when nothing of it is left, and all that it has told is known. */
  readonly ended: Settlement<Ending>
  readonly answer: (id: number, answer: Answer) => void
  /** Ends it by force. Again and again it is the same as once. */
  readonly stop: () => void
}

/** @internal */
export interface Engine {
  /** Starts code, in this step, or gives a place that ends because it could not be started. */
  readonly start: (job: Job, listener: Listener, origin: Origin) => Place
}
