/**
 * Takes in what foreign code wrote, as frozen JSON of the expected shape, or not at all.
 */
import * as Either from "effect/Either"
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

/** @internal */
export const isContent = Schema.is(Schema.Array(Content.Content))

/**
 * Content as frozen JSON, or `undefined` when it is not content.
 *
 * @internal
 */
export const freezeContent = (content: unknown): ReadonlyArray<Content.Content> | undefined =>
  frozenAs(isContent, content)
