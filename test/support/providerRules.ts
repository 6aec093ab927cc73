// What the providers of models demand of the messages that a session shows, with whatever a person says next behind them:
// the rules are those of `MessageRules`.
import { Content } from "quiesce"
import type { Model } from "quiesce/capability"
import { MessageRules } from "quiesce/testing"

const next: Model.Message = { role: "user", content: [Content.text("Go on.")] }

/** What a provider would refuse, in words. */
export const refusals = (messages: ReadonlyArray<Model.Message>): ReadonlyArray<string> =>
  MessageRules.problems([...messages, next]).map(
    ({ message, provider, what }) => `${provider}, message ${message}: ${what}`
  )
