/**
 * What a descriptor says of a member of a service, as both directions read it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { isString } from "effect/Predicate"
import { Settlement } from "../settlement.js"

/** @internal */
export interface AnyCodec {
  readonly toEffect: (promised: any) => unknown
  readonly toPromise: (effectful: any) => unknown
  readonly absent?: unknown
}

/** @internal */
export type Operations = { readonly [operation: string]: unknown }

/** @internal */
export interface Entry {
  readonly kind: "effect" | "at-once" | "stream" | "sync"
  /** Whether it is no function, but the effect or the stream itself. In a seam it is a function all the same. */
  readonly isProperty: boolean
  readonly takes?: { readonly [option: string]: AnyCodec }
  readonly gives?: Operations
  readonly endedBy?: ReadonlyArray<string>
}

interface Written extends Omit<Entry, "isProperty" | "kind"> {
  readonly kind: string
}

const entryOf = (entry: unknown): Entry => {
  const written = isString(entry) ? { kind: entry } : (entry as Written)
  const isProperty = written.kind.startsWith("get ")
  return { ...written, isProperty, kind: (isProperty ? written.kind.slice(4) : written.kind) as Entry["kind"] }
}

/** @internal */
export const entriesOf = (operations: Operations): ReadonlyArray<readonly [name: string, entry: Entry]> =>
  Object.entries(operations).map(([name, entry]) => [name, entryOf(entry)])

/**
 * Options with those of them exchanged that are not the same on both sides.
 *
 * @internal
 */
export const exchanged = (
  options: { readonly [option: string]: unknown },
  entry: Entry,
  direction: "toEffect" | "toPromise"
): Record<string, unknown> => {
  const result = { ...options }
  for (const [option, codec] of Object.entries(entry.takes ?? {})) {
    const value = result[option]
    if (value !== undefined) result[option] = codec[direction](value)
    else if (codec.absent !== undefined)
      result[option] = direction === "toEffect" ? codec.absent : codec.toPromise(value)
  }
  return result
}

/**
 * A handle, or each of several, or nothing.
 *
 * @internal
 */
export const eachHandle = (value: unknown, map: (handle: object) => object): unknown => {
  if (value === undefined || value === null) return value
  return Array.isArray(value) ? value.map(map) : map(value)
}

/**
 * Waits for a promise in a protected region, whatever has become of its owner. A failure of it is logged.
 *
 * @internal
 */
export const awaitQuietly = (what: string, start: () => unknown): Effect.Effect<void> =>
  Effect.suspend(() => {
    const ended = new Settlement<Effect.Effect<void>>()
    new Promise((resolve) => resolve(start())).then(
      () => ended.settle(Effect.void),
      (error) => ended.settle(Effect.logWarning(`${what} failed`, Cause.fail(error)))
    )
    return Effect.flatten(ended.wait())
  })
