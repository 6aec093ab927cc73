/**
 * What a model is shown: text, reasoning, images.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

/**
 * A model's reasoning.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reasoning = Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String })

/**
 * An image, its bytes in Base64.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Image = Schema.Struct({ type: Schema.Literal("image"), data: Schema.String, mediaType: Schema.String })

/**
 * Schema for one block of content.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Content = Schema.Union(Text, Reasoning, Image)

/**
 * One block of content.
 *
 * @since 0.1.0
 * @category models
 */
export type Content = typeof Content.Type

/**
 * A block of text, frozen.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content } from "quiesce"
 *
 * assert.deepStrictEqual(Content.text("done"), { type: "text", text: "done" })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const text = (text: string): Content => Object.freeze({ type: "text", text })

/**
 * Renders blocks as one text, a line each. Blocks that are not text are named: `[image content]`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content } from "quiesce"
 *
 * const blocks = [Content.text("a"), { type: "reasoning", text: "hm" }] as const
 * assert.strictEqual(Content.toText(blocks), "a\n[reasoning content]")
 * ```
 *
 * @since 0.1.0
 * @category converting
 */
export const toText = (content: ReadonlyArray<Content>): string =>
  content.map((block) => (block.type === "text" ? block.text : `[${block.type} content]`)).join("\n")
