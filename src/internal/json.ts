/**
 * Lossless JSON: what survives `JSON.stringify` and `JSON.parse` unchanged.
 *
 * `materialize` reads a foreign value exactly once and gives back a detached, deep-frozen copy, so that nobody who
 * kept the original can change what a policy approved. It never throws: the value may be hostile.
 */
import * as Either from "effect/Either"

/** @internal */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/**
 * Why a value is not lossless JSON.
 *
 * @internal
 */
export type NotJson =
  | { readonly _tag: "Lossy"; readonly path: string; readonly found: string }
  | { readonly _tag: "Threw"; readonly error: unknown }

// Deeper values overflow the stack of `JSON.stringify` in some hosts; nothing that people write is near this.
const maxDepth = 1000

class Lossy {
  readonly found: string
  path = ""

  constructor(found: string) {
    this.found = found
  }

  /** Prepends a step while the walk unwinds, so that a good value never pays for a path. */
  under(step: string | number): this {
    this.path = (typeof step === "number" ? `[${step}]` : `.${step}`) + this.path
    return this
  }
}

// Names and symbols are asked for apart: `Reflect.ownKeys` takes three times as long as both.
const hasSymbols = (value: object): boolean => Object.getOwnPropertySymbols(value).length > 0

const copyArray = (value: ReadonlyArray<unknown>, ancestors: Array<object>): Json | Lossy => {
  const length = value.length
  // `length` is the one own name that is not an element: fewer names mean a hole, more mean extra properties.
  if (Object.getOwnPropertyNames(value).length !== length + 1 || hasSymbols(value)) {
    return new Lossy("an array with holes or extra properties")
  }
  const copy: Array<Json> = new Array(length)
  for (let i = 0; i < length; i++) {
    const item = copyValue(value[i], ancestors)
    if (item instanceof Lossy) return item.under(i)
    copy[i] = item
  }
  return Object.freeze(copy)
}

const copyRecord = (value: object, ancestors: Array<object>): Json | Lossy => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return new Lossy("an object that is not plain")
  const copy: { [key: string]: Json } = {}
  const keys = Object.keys(value)
  if (Object.getOwnPropertyNames(value).length !== keys.length || hasSymbols(value)) {
    return new Lossy("an object with symbols or hidden properties")
  }
  for (const key of keys) {
    const item = copyValue((value as Record<string, unknown>)[key], ancestors)
    if (item instanceof Lossy) return item.under(key)
    // Plain assignment to `__proto__` would set the prototype instead of a property.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: item, enumerable: true })
    else copy[key] = item
  }
  return Object.freeze(copy)
}

const copyValue = (value: unknown, ancestors: Array<object>): Json | Lossy => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : new Lossy(`the number ${Object.is(value, -0) ? "-0" : value}`)
    case "object": {
      if (value === null) return value
      if (ancestors.includes(value)) return new Lossy("a cycle")
      if (ancestors.length === maxDepth) return new Lossy(`more than ${maxDepth} levels`)
      ancestors.push(value)
      const copy = Array.isArray(value) ? copyArray(value, ancestors) : copyRecord(value, ancestors)
      ancestors.pop()
      return copy
    }
    default:
      return new Lossy(value === undefined ? "undefined" : `a ${typeof value}`)
  }
}

/**
 * Copies `value` and freezes the copy, or says why it is not lossless JSON.
 *
 * @internal
 */
export const materialize = (value: unknown): Either.Either<Json, NotJson> => {
  try {
    const copy = copyValue(value, [])
    return copy instanceof Lossy
      ? Either.left({ _tag: "Lossy", path: `$${copy.path}`, found: copy.found })
      : Either.right(copy)
  } catch (error) {
    return Either.left({ _tag: "Threw", error }) // a getter or a proxy trap of the host
  }
}
