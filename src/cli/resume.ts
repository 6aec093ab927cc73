/**
 * Whether a session can go on with a plan.
 *
 * The model of a plan says the step that comes after the answers that a session holds. With another plan than the one
 * that gave them it would begin somewhere in the middle, and nobody would see what was left out.
 */
import * as Effect from "effect/Effect"
import type * as Model from "../capability/Model.js"
import { BadInput } from "./badInput.js"
import type * as Plan from "./plan.js"
import { lastWords } from "./planModel.js"

type Said = Extract<Model.Message, { readonly role: "assistant" }>

const textOf = ({ content }: Said): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")

const callsOf = ({ content }: Said): ReadonlyArray<string> =>
  content.flatMap((block) => (block.type === "tool-call" ? [`${block.id} ${block.name} ${block.arguments}`] : []))

/** Whether an answer is that of a step. One that was stopped is the beginning of its text, without its calls. */
const isOf = (said: Said, { calls, text = "" }: Plan.Step): boolean => {
  const made = callsOf(said)
  if (made.length === 0) return text.startsWith(textOf(said))
  const planned = calls.map(({ id, parameters, tool }) => `${id} ${tool} ${JSON.stringify(parameters)}`)
  return textOf(said) === text && made.join("\n") === planned.join("\n")
}

/** Fails unless what was said in a session, `file`, is what the plan says first. */
export const mustFit = (
  plan: Plan.Plan | undefined,
  messages: ReadonlyArray<Model.Message>,
  file: string | undefined
): Effect.Effect<void, BadInput> =>
  Effect.suspend(() => {
    if (plan === undefined || file === undefined) return Effect.void
    const said = messages.filter((message): message is Said => message.role === "assistant")
    const other = said.findIndex((answer, i) => !isOf(answer, plan.steps[i] ?? { text: lastWords, calls: [] }))
    if (other === -1) return Effect.void
    const where =
      other < plan.steps.length ? `is not step ${other + 1} of this plan` : "comes after the end of this plan"
    return new BadInput({
      messages: [
        `--session ${file}: it was started with something else: its answer ${other + 1} ${where}: expected the plan or the --model that it was started with, or the name of a new file`
      ]
    })
  })
