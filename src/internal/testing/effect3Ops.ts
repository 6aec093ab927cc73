/**
 * What the operations of effect 3.22 do, as far as it shows in what they are made of.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"

/** @internal */
export interface Op {
  readonly _op: string
  readonly effect_instruction_i0?: unknown
}

/**
 * What has the frames to which the values of operations go.
 *
 * @internal
 */
export interface Stacked {
  readonly _stack: ReadonlyArray<{ readonly _op: string }>
}

// Pushing a frame runs no code of the program, nor does what only turns into another operation.
const silent = new Set([
  "OnSuccess",
  "OnFailure",
  "OnSuccessAndFailure",
  "OnStep",
  "Tag",
  "Left",
  "Right",
  "Some",
  "None"
])
const effects = new Set(["Sync", "Async", "Commit", "WithRuntime", "UpdateRuntimeFlags", "Yield"])
// Between the registration of a callback and the wait for it.
const registering = new Set(["Commit", "UpdateRuntimeFlags", "Async"])

/** @internal */
export const isSilent = (op: Op): boolean => silent.has(op._op)

/**
 * Whether it may have an effect that others see.
 *
 * @internal
 */
export const hasEffect = (op: Op): boolean => effects.has(op._op)

/** @internal */
export const isRegistering = (op: Op): boolean => registering.has(op._op)

// Operations of one kind share the source of their function.
const commitOf = (op: unknown): string | undefined => (op as { commit?: () => unknown }).commit?.toString()
const runtimeOf = (op: unknown): string => String((op as Op).effect_instruction_i0)

const asyncSource = commitOf(Effect.async<void>(() => {}))
// Only the mask that they return does anything.
const maskSources = [
  commitOf(Effect.uninterruptibleMask(() => Effect.void)),
  commitOf(Effect.interruptibleMask(() => Effect.void))
]
const transplantSource = runtimeOf(Effect.transplant(() => Effect.void))

/**
 * What an operation that is made with a function is, as far as that matters.
 *
 * @internal
 */
export const commitKind = (op: Op): "async" | "mask" | "other" => {
  const source = commitOf(op)
  return maskSources.includes(source) ? "mask" : source === asyncSource ? "async" : "other"
}

/**
 * Whether it is what a concurrent `Effect.all` begins with, inside a mask.
 *
 * @internal
 */
export const isTransplant = (op: Op): boolean => op._op === "WithRuntime" && runtimeOf(op) === transplantSource

const someRef = FiberRef.unsafeMake(0)
// They read and write only the fiber that runs them, or make another one.
const ownSources = new Set(
  [
    Effect.fork(Effect.void),
    Effect.runtime(),
    Effect.context(),
    FiberRef.get(someRef),
    FiberRef.set(someRef, 0),
    FiberRef.modify(someRef, () => [0, 0]),
    Effect.transplant(() => Effect.void)
  ]
    .filter((op) => (op as unknown as Op)._op === "WithRuntime")
    .map(runtimeOf)
)

/**
 * Whether it may read or write what fibers share: it runs a function of the program, or of a data structure.
 *
 * A value that goes to a generator runs the generator's code. One that goes to the function of a `flatMap` is taken to run
 * nothing that matters: nearly all these functions are Effect's own (`map` makes an operation of its function).
 *
 * @internal
 */
export const mayShare = (op: Op, { _stack }: Stacked): boolean => {
  switch (op._op) {
    case "UpdateRuntimeFlags":
    case "Yield":
    case "OnSuccess":
    case "OnFailure":
    case "OnSuccessAndFailure":
    case "OnStep":
      return false
    case "Sync":
    case "Commit":
    case "Async":
    case "While":
    case "Iterator":
      return true
    case "WithRuntime":
      return !ownSources.has(runtimeOf(op))
    default:
      return _stack.at(-1)?._op === "Iterator"
  }
}

/** @internal */
export const isNever = (op: Op): boolean => (op as unknown) === Effect.never
