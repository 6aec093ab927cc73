/**
 * The order in which the calls of one batch start and end, as a pure machine.
 *
 * Invariants
 *
 * S1. One lane: gates and commits (review, result) happen one at a time, in model order; only what is between them, the
 *     wrappers and the body, overlaps.
 * S2. An exclusive call is alone from its gate to its commit. At most `limit` parallel calls run at once.
 * S3. The mode of a call is read right before its start, never earlier.
 * S4. After a cancel, or when the log breaks, nothing starts: what runs is drained and committed, then each call that was
 *     never started is skipped, in model order (L8).
 * S5. A commit goes before a start: a result is told as soon as its turn has come.
 */

/** @internal */
export type Mode = "parallel" | "exclusive"

type Status =
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Gating" | "Running" | "Settled"; readonly mode: Mode }
  | { readonly _tag: "Committing" | "Skipping" }
  | { readonly _tag: "Done" }

/** @internal */
export interface State {
  readonly calls: ReadonlyArray<Status>
  readonly limit: number
  /** Nothing starts any more. */
  readonly isStopped: boolean
}

/** @internal */
export type Event =
  | { readonly _tag: "Gated" | "Settled" | "Committed"; readonly index: number }
  | { readonly _tag: "Stopped" }

/** @internal */
export type Command =
  | { readonly _tag: "Start" | "Commit" | "Skip"; readonly index: number }
  /** Every call has been committed or skipped. */
  | { readonly _tag: "Finish" }

/** @internal */
export const initial = (calls: number, limit: number): State => ({
  calls: Array.from({ length: calls }, () => ({ _tag: "Waiting" })),
  limit,
  isStopped: false
})

const set = (state: State, index: number, status: Status): State => ({
  ...state,
  calls: state.calls.map((old, i) => (i === index ? status : old))
})

const modeAt = (state: State, index: number): Mode => {
  const status = state.calls[index]
  return status !== undefined && "mode" in status ? status.mode : "exclusive"
}

/**
 * What an event makes of a batch.
 *
 * @internal
 */
export const transition = (state: State, event: Event): State => {
  switch (event._tag) {
    case "Stopped":
      return { ...state, isStopped: true }
    case "Gated":
      return set(state, event.index, { _tag: "Running", mode: modeAt(state, event.index) })
    case "Settled":
      return set(state, event.index, { _tag: "Settled", mode: modeAt(state, event.index) })
    case "Committed":
      return set(state, event.index, { _tag: "Done" })
  }
}

const startable = (state: State, index: number, head: number, mode: () => Mode): Mode | undefined => {
  const started = state.calls.slice(head, index)
  if (started.some((status) => "mode" in status && status.mode === "exclusive")) return undefined // S2
  const running = started.filter(({ _tag }) => _tag === "Running").length
  if (running >= state.limit) return undefined // S2
  const now = mode() // S3
  return now === "exclusive" && index !== head ? undefined : now
}

/**
 * What is to be done next, if anything is; `modeOf` is asked for the call that could start now.
 *
 * @internal
 */
export const decide = (state: State, modeOf: (index: number) => Mode): readonly [State, Command | undefined] => {
  const busy = state.calls.some(({ _tag }) => _tag === "Gating" || _tag === "Committing" || _tag === "Skipping")
  if (busy) return [state, undefined] // S1
  const head = state.calls.findIndex(({ _tag }) => _tag !== "Done")
  if (head === -1) return [state, { _tag: "Finish" }]
  const first = state.calls[head] as Status
  if (first._tag === "Settled") return [set(state, head, { _tag: "Committing" }), { _tag: "Commit", index: head }] // S5
  if (state.isStopped) {
    return first._tag === "Waiting"
      ? [set(state, head, { _tag: "Skipping" }), { _tag: "Skip", index: head }] // S4
      : [state, undefined]
  }
  const next = state.calls.findIndex(({ _tag }) => _tag === "Waiting")
  if (next === -1) return [state, undefined]
  const mode = startable(state, next, head, () => modeOf(next))
  return mode === undefined
    ? [state, undefined]
    : [set(state, next, { _tag: "Gating", mode }), { _tag: "Start", index: next }]
}
