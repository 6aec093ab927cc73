/**
 * A set of tools with distinct names.
 *
 * @since 0.1.0
 */
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import { hasProperty } from "effect/Predicate"
import { misuse } from "./internal/invariant.js"
import type * as Tool from "./Tool.js"

const TypeId = "~quiesce/Toolkit"

/**
 * A set of tools with distinct names.
 *
 * @since 0.1.0
 * @category models
 */
export interface Toolkit<out T extends Tool.Any> extends Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly tools: ReadonlyMap<string, T>
}

/**
 * Any toolkit, whatever its tools.
 *
 * @since 0.1.0
 * @category utility types
 */
export interface Any extends Toolkit<Tool.Any> {}

/**
 * The tools of a toolkit.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Tools<T extends Any> = T extends Toolkit<infer A> ? A : never

/**
 * What the handlers of a toolkit need.
 *
 * @since 0.1.0
 * @category utility types
 */
export type Requirements<T extends Any> = Tool.Requirements<Tools<T>>

/**
 * Checks whether a value is a `Toolkit`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isToolkit = (u: unknown): u is Any => hasProperty(u, TypeId)

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    // biome-ignore lint/complexity/noArguments: `pipeArguments` wants the raw arguments object
    return pipeArguments(this, arguments)
  }
}

/**
 * Creates a toolkit. Throws when two tools have one name.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Schema } from "effect"
 * import { Tool, Toolkit } from "quiesce"
 *
 * const Now = Tool.make("now", {
 *   description: "Tells the time",
 *   parameters: {},
 *   success: Schema.String,
 *   handler: () => Effect.succeed("noon")
 * })
 *
 * assert.deepStrictEqual([...Toolkit.make(Now).tools.keys()], ["now"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const T extends ReadonlyArray<Tool.Any>>(...tools: T): Toolkit<T[number]> => {
  const byName = new Map<string, T[number]>()
  for (const tool of tools) {
    if (byName.has(tool.name)) misuse(`Two tools of a toolkit are named "${tool.name}": give one of them another name`)
    byName.set(tool.name, tool)
  }
  return Object.assign(Object.create(Proto), { tools: byName })
}

/**
 * Puts the tools of several toolkits into one. Throws when two tools have one name.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Toolkit } from "quiesce"
 *
 * assert.strictEqual(Toolkit.merge(Toolkit.make(), Toolkit.make()).tools.size, 0)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const merge = <const T extends ReadonlyArray<Any>>(...toolkits: T): Toolkit<Tools<T[number]>> =>
  make(...toolkits.flatMap((toolkit) => [...toolkit.tools.values()])) as Toolkit<Tools<T[number]>>
