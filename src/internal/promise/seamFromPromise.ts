/**
 * Makes a service of a seam, as its descriptor says.
 */
import * as Effect from "effect/Effect"
import { hasProperty, isFunction, isObject } from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Abort from "../../Abort.js"
import * as Cancellation from "../../Cancellation.js"
import { awaitQuietly, type Entry, eachHandle, entriesOf, exchanged, type Operations } from "./seamEntry.js"
import { fromIterable } from "./seamStream.js"

type Catch = (error: unknown, operation: string) => unknown
type Operation = (...args: ReadonlyArray<unknown>) => unknown

/** Whether an argument is an options object, by the rules of the types: those refuse whatever would be in doubt. */
const isOptions = (last: unknown): last is Record<string, unknown> =>
  isObject(last) &&
  !isFunction(last) &&
  !Array.isArray(last) &&
  !ArrayBuffer.isView(last) &&
  !Effect.isEffect(last) &&
  !hasProperty(last, Stream.StreamTypeId) &&
  !hasProperty(last, Symbol.asyncIterator)

/** The arguments of an operation that can wait, as the seam takes them. */
const withSignal = (args: ReadonlyArray<unknown>, entry: Entry, signal: AbortSignal): ReadonlyArray<unknown> => {
  const last = args.at(-1)
  if (isOptions(last)) return [...args.slice(0, -1), { ...exchanged(last, entry, "toPromise"), signal }]
  // An options object that was given as nothing.
  return last === undefined ? [...args.slice(0, -1), { signal }] : [...args, { signal }]
}

interface Closable {
  readonly close?: () => unknown
}

type Promised = Effect.Effect<unknown, unknown, Cancellation.Cancellation>

const awaiting = (call: (signal: AbortSignal) => unknown, name: string, onError: Catch): Promised =>
  Abort.fromPromise({
    // In an executor, for what throws and for what is no promise.
    try: ({ signal }) => new Promise<unknown>((resolve) => resolve(call(signal))),
    catch: (error) => onError(error, name)
  })

/** The handle is closed with the scope, also where it comes so late that nobody else sees it. */
const inScope = (
  call: (signal: AbortSignal) => unknown,
  name: string,
  onError: Catch
): Effect.Effect<unknown, unknown, Cancellation.Cancellation | Scope.Scope> =>
  Effect.suspend(() => {
    let handle: Closable | undefined
    const keep = async (signal: AbortSignal) => {
      handle = (await call(signal)) as Closable
      return handle
    }
    const close = awaitQuietly(`Closing what ${name} has given`, () => handle?.close?.())
    return Effect.zipRight(
      Effect.addFinalizer(() => close),
      awaiting(keep, name, onError)
    )
  })

const given = (value: unknown, { gives }: Entry, onError: Catch): unknown =>
  gives === undefined ? value : eachHandle(value, (handle) => serviceOf(gives, handle, onError))

const memberOf = (seam: Record<string, unknown>, name: string, entry: Entry, onError: Catch): unknown => {
  const call = (args: ReadonlyArray<unknown>) => (seam[name] as Operation).apply(seam, [...args])
  const operation = (...args: ReadonlyArray<unknown>): unknown => {
    const withOwner = (signal: AbortSignal) => call(withSignal(args, entry, signal))
    switch (entry.kind) {
      case "sync":
        return undefined
      case "stream":
        return fromIterable(
          (signal) => withOwner(signal) as AsyncIterable<unknown>,
          (error) => onError(error, name)
        )
      case "at-once":
        // Nobody stops it. It is waited for by whoever is there.
        return Effect.map(Cancellation.own(awaiting(() => call(args), name, onError)), (value) =>
          given(value, entry, onError)
        )
      case "effect": {
        const effect = entry.endedBy === undefined ? awaiting : inScope
        return Effect.map(effect(withOwner, name, onError), (value) => given(value, entry, onError))
      }
    }
  }
  return entry.isProperty ? operation() : operation
}

/**
 * The service, or the handle, of a seam.
 *
 * @internal
 */
export const serviceOf = (operations: Operations, seam: object, onError: Catch): object => {
  const service: Record<string, unknown> = {}
  const members = seam as Record<string, unknown>
  for (const [name, entry] of entriesOf(operations)) {
    service[name] = entry.kind === "sync" ? members[name] : memberOf(members, name, entry, onError)
  }
  return service
}
