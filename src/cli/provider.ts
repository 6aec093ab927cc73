/**
 * The language model that the command line names.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Model } from "../capability/Model.js"
import * as OpenAiModel from "../capability/OpenAiModel.js"
import * as NodeHttp from "../node/NodeHttp.js"
import { defaultBaseUrl } from "./args.js"
import { BadInput } from "./badInput.js"

/** The variables that the key is looked for in. */
const variables = ["QUIESCE_API_KEY", "OPENAI_API_KEY"] as const

const keyIn = (env: NodeJS.ProcessEnv): string | undefined =>
  variables.map((name) => env[name]).find((key) => key !== undefined && key !== "")

/** A provider that speaks OpenAI's chat completions. Its host, and no other, may be on this machine or in its network. */
export const make = (baseUrl: string, env: NodeJS.ProcessEnv): Effect.Effect<Layer.Layer<Model>, BadInput> =>
  Effect.suspend(() => {
    const key = keyIn(env)
    if (key === undefined && baseUrl === defaultBaseUrl) {
      const messages = [`${baseUrl} needs a key: set ${variables.join(" or ")}, or give another --base-url`] as const
      return new BadInput({ messages })
    }
    const { hostname } = new URL(baseUrl)
    const host = hostname.replace(/^\[|\]$/g, "")
    const apiKey = key === undefined ? undefined : Redacted.make(key)
    const http = NodeHttp.layer({ hosts: [host], allowPrivate: [host] })
    return Effect.succeed(Layer.provide(OpenAiModel.layer({ baseUrl, apiKey }), http))
  })

/** What a model is told of its place. */
export const instructionsFor = (workspace: string): string =>
  `You work in the folder ${workspace} on the machine of the person who talks to you, with the tools that you are given. ` +
  "File tools cannot leave it; give them paths from there. Say in a few words what you have done when you have done it. " +
  "A call may be stopped or denied by the person: its result says what is true of it. Do not repeat a call that was " +
  "denied, and look before you repeat one that may have had effects."
