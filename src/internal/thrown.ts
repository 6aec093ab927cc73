/**
 * Reads what foreign code threw, without trusting it.
 *
 * Anything can be thrown: strings, plain objects, proxies that throw when they are looked at.
 */
import { hasProperty, isString } from "effect/Predicate"

/**
 * What is known of a thrown value: the message always, a name (its tag) and a code only where the value carries them.
 *
 * @internal
 */
export interface Thrown {
  readonly message: string
  readonly name: string | undefined
  readonly code: string | undefined
}

/**
 * The code of a typed failure that carries none: its tag in upper snake case.
 *
 * @internal
 */
export const codeOfTag = (tag: string): string => tag.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase()

const text = (u: unknown, key: string): string | undefined =>
  hasProperty(u, key) && isString(u[key]) && u[key] !== "" ? (u[key] as string) : undefined

const inspect = (u: unknown): Thrown => {
  const tag = text(u, "_tag")
  return {
    message: u instanceof Error ? u.message || tag || u.name : (text(u, "message") ?? String(u)),
    name: tag,
    code: tag === undefined ? undefined : text(u, "code")
  }
}

/**
 * Describes a thrown value.
 *
 * What has a `_tag` names itself: the tag is the name, its `code` field the code. Whatever else is thrown has only a
 * message.
 *
 * @internal
 */
export const describeThrown = (u: unknown): Thrown => {
  try {
    return inspect(u)
  } catch {
    return { message: "<unprintable thrown value>", name: undefined, code: undefined }
  }
}
