/**
 * A model that says what a plan says: one step of it to each request.
 *
 * Which step comes is read from the request itself, as the number of answers that it holds. So a session that is opened
 * again goes on where it stopped, and a step that was cancelled is not said twice.
 */
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Model from "../capability/Model.js"
import type * as Plan from "./plan.js"

/** What is said when the plan has no step left. */
export const lastWords = "That was the last step of the plan."

const answer = ({ calls, text }: Plan.Step): ReadonlyArray<Model.Chunk> => [
  ...(text === undefined ? [] : [Model.Text.make({ text })]),
  ...calls.flatMap(({ id, parameters, tool }) => [
    Model.ToolCallStart.make({ id, name: tool }),
    Model.ToolCallArguments.make({ id, text: JSON.stringify(parameters) })
  ]),
  Model.Finish.make({ reason: calls.length === 0 ? "stop" : "tool-calls" })
]

/** The model of a plan. */
export const layer = ({ steps }: Plan.Plan): Layer.Layer<Model.Model> =>
  Model.layer(({ messages }) => {
    const said = messages.filter(({ role }) => role === "assistant").length
    return Stream.fromIterable(answer(steps[said] ?? { text: lastWords, calls: [] }))
  })
