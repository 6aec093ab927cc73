/**
 * Tools that fetch from the network, within what the layer of `Http` allows.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Http from "../capability/Http.js"
import * as Tool from "../Tool.js"
import * as Toolkit from "../Toolkit.js"

/**
 * What these tools have in common.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The time for one call. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
  /** The time for the network, after which the call fails with `HTTP_TIMED_OUT`. Default: 30 seconds. */
  readonly networkTimeout?: Duration.DurationInput | undefined
  /** The most that a page may hold, unpacked. Default: 1 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * `fetch_url`: a page as text. When the call is cancelled its connection is closed before it is answered.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fetchUrl = ({ maxBytes = 1024 * 1024, networkTimeout = "30 seconds", timeout }: Options = {}) =>
  Tool.make("fetch_url", {
    description: "Fetches a page with GET and gives it as text, as it is",
    parameters: { url: Schema.NonEmptyString.annotations({ description: "Starts with https:// or http://" }) },
    success: Schema.Struct({ url: Schema.String, text: Schema.String }),
    failure: Http.HttpError,
    timeout,
    concurrency: "parallel",
    handler: ({ url }) => Effect.map(Http.text({ url, timeout: networkTimeout, maxBytes }), (text) => ({ url, text }))
  })

/**
 * All of them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { HttpTools } from "quiesce/tools"
 *
 * assert.deepStrictEqual([...HttpTools.make().tools.keys()], ["fetch_url"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}) => Toolkit.make(fetchUrl(options))
