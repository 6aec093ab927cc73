/**
 * A plan of calls, as a model writes one down: groups of steps, and references from a step to what earlier ones gave.
 *
 * A reference is an object, `{ "$from": "id", "at": ["key", 0] }`, wherever a value may be; `{ "$text": [...] }` joins texts
 * and references to one text. Objects, and not a syntax in texts: a text is often a template of something else.
 */
import * as Either from "effect/Either"
import { hasProperty } from "effect/Predicate"

/** @internal */
export interface Step {
  readonly id: string
  readonly tool: string
  readonly parameters: unknown
}

/** The groups of a plan: one after the other, the steps of each side by side. */
type Groups = ReadonlyArray<ReadonlyArray<Step>>

interface Reference {
  readonly $from: string
  readonly at: ReadonlyArray<string | number>
}

const isReference = (u: unknown): u is { readonly $from: unknown; readonly at?: unknown } =>
  hasProperty(u, "$from") && Object.keys(u).every((key) => key === "$from" || key === "at")

const isText = (u: unknown): u is { readonly $text: ReadonlyArray<unknown> } =>
  hasProperty(u, "$text") && Array.isArray(u.$text) && Object.keys(u).length === 1

const referenceOf = ({ $from, at = [] }: { readonly $from: unknown; readonly at?: unknown }): Reference | undefined =>
  typeof $from === "string" &&
  Array.isArray(at) &&
  at.every((key) => typeof key === "string" || (typeof key === "number" && Number.isInteger(key) && key >= 0))
    ? { $from, at }
    : undefined

const referencesIn = (u: unknown): ReadonlyArray<Reference | undefined> => {
  if (typeof u !== "object" || u === null) return []
  if (isReference(u)) return [referenceOf(u)]
  return Object.values(u).flatMap(referencesIn)
}

/**
 * What is wrong with a plan, before anything of it runs.
 *
 * @internal
 */
export const problemOf = (groups: Groups, own: string): string | undefined => {
  const known = new Set<string>()
  const all = groups.flat().map(({ id }) => id)
  const twice = all.find((id, index) => all.indexOf(id) !== index)
  if (twice !== undefined) return `two steps have the id ${twice}`
  for (const group of groups) {
    for (const { id, parameters, tool } of group) {
      if (tool === own) return `step ${id}: ${own} cannot call itself`
      for (const reference of referencesIn(parameters)) {
        if (reference === undefined) return `step ${id}: a reference is { "$from": id, "at": [keys] }`
        const { $from } = reference
        if (!known.has($from)) return `step ${id} refers to ${$from}, which is no step of an earlier group`
      }
    }
    for (const { id } of group) known.add(id)
  }
  return undefined
}

/**
 * The parameters of a step with the values that it refers to, or what is not there.
 *
 * @internal
 */
export const resolve = (u: unknown, values: ReadonlyMap<string, unknown>): Either.Either<unknown, string> => {
  if (typeof u !== "object" || u === null) return Either.right(u)
  if (isReference(u)) return lookUp(referenceOf(u), values)
  if (isText(u)) {
    return Either.map(Either.all(u.$text.map((part) => resolve(part, values))), (parts) =>
      parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join("")
    )
  }
  if (Array.isArray(u)) return Either.all(u.map((item) => resolve(item, values)))
  return Either.map(
    Either.all(Object.entries(u).map(([key, value]) => Either.map(resolve(value, values), (made) => [key, made]))),
    (entries) => Object.fromEntries(entries)
  )
}

const lookUp = (
  reference: Reference | undefined,
  values: ReadonlyMap<string, unknown>
): Either.Either<unknown, string> => {
  if (reference === undefined) return Either.left("a reference that is none")
  let value = values.get(reference.$from)
  for (const key of reference.at) {
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key)
    if (!isThere) return Either.left(`what step ${reference.$from} gave has nothing at ${JSON.stringify(reference.at)}`)
    value = (value as { readonly [key: string | number]: unknown })[key]
  }
  return Either.right(value)
}
