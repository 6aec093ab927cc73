/**
 * Takes in what foreign code wrote, as frozen JSON of the expected shape, or not at all.
 */
import * as Either from "effect/Either"
import { hasProperty, isString } from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Content from "../../Content.js"
import { materialize } from "../json.js"

/**
 * A frozen copy of `value`, if it is what `is` says.
 *
 * @internal
 */
export const frozenAs = <A>(is: (u: unknown) => u is A, value: unknown): A | undefined => {
  const frozen = materialize(value)
  return Either.isRight(frozen) && is(frozen.right) ? frozen.right : undefined
}

const none: ReadonlyArray<never> = Object.freeze([])

const isAnyContent = Schema.is(Schema.Array(Content.Content))

const isText = (block: unknown): boolean =>
  hasProperty(block, "type") && block.type === "text" && hasProperty(block, "text") && isString(block.text)

/**
 * Whether a value is content. Text, which nearly all content is, is told without the schema: that costs as much as
 * everything else about publishing a result.
 *
 * @internal
 */
export const isContent = (value: unknown): value is ReadonlyArray<Content.Content> =>
  (Array.isArray(value) && value.every(isText)) || isAnyContent(value)

/**
 * Content as frozen JSON, or `undefined` when it is not content.
 *
 * @internal
 */
export const freezeContent = (content: unknown): ReadonlyArray<Content.Content> | undefined =>
  Array.isArray(content) && content.length === 0 ? none : frozenAs(isContent, content)
