/**
 * What a session is stored in: bytes that only grow, one line for each event.
 */

/** @internal */
export interface Storage {
  /** As messages name it: a path. */
  readonly name: string
  /** What it held when it was opened. */
  readonly contents: Uint8Array
  /** Appends one line, as a whole or not at all, or throws. */
  readonly append: (line: Uint8Array) => void
  /** Keeps the first `length` bytes, or throws. */
  readonly cut: (length: number) => void
  /** Completes when everything that was appended survives a loss of power, or throws. */
  readonly sync: () => void
}

/**
 * Why an operation on a session fails, before it is known which session.
 *
 * @internal
 */
export interface Problem {
  readonly reason: Reason
  readonly line?: number
  readonly detail?: string
  readonly cause?: unknown
}

/** @internal */
export type Reason =
  | "NotFound"
  | "NotAFile"
  | "PermissionDenied"
  | "NoSpace"
  | "Locked"
  | "NotASession"
  | "OtherVersion"
  | "BrokenLine"
  | "InvalidEvent"
  | "Closed"
  | "NotDurable"
  | "Unknown"
