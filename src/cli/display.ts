/**
 * Shows how far the calls are while a plan runs: a line for each change, or, on a terminal, lines that are drawn again in
 * place.
 */
import type { Output } from "./output.js"
import type * as Plan from "./plan.js"
import type { Event, Outcome } from "./runPlan.js"
import { codeOf } from "./table.js"

/** Shows the events of a plan. */
export interface Display {
  readonly show: (event: Event) => void
  /** Shows how the time passes. */
  readonly tick: (now: number) => void
}

/** Shows nothing. */
export const silent: Display = { show: () => {}, tick: () => {} }

const widthOf = (plan: Plan.Plan, cell: (call: Plan.Call) => string): number =>
  Math.max(...plan.steps.flatMap(({ calls }) => calls.map((call) => cell(call).length)))

/** Begins a line for a call: its name and its tool. */
const nameIn = (plan: Plan.Plan): ((callId: string, tool: string) => string) => {
  const ids = widthOf(plan, ({ id }) => id)
  const tools = widthOf(plan, ({ tool }) => tool)
  return (callId, tool) => `${callId.padEnd(ids)}  ${tool.padEnd(tools)}`
}

const alive = ({ stillAlive }: Outcome): string =>
  stillAlive.length === 0 ? "" : `  still alive: ${stillAlive.join("; ")}`

/** One line for each change. Phases that follow each other at once share a line. */
export const plain = (output: Output, plan: Plan.Plan, startedAt: number): Display => {
  const name = nameIn(plan)
  const ended = new Set<string>()
  const unseen = new Map<string, ReadonlyArray<string>>()
  const line = (at: number, callId: string, tool: string, text: string): void =>
    output.write(`${String(at - startedAt).padStart(6)}ms  ${name(callId, tool)}  ${text}`)
  return {
    tick: () => {},
    show: (event) => {
      if (event._tag === "Phases") {
        const { callId, tool } = event.status
        if (ended.has(callId) || event.phases.length === 0) return
        // The last phase is shown with the code, which comes with the result.
        if (event.phases.at(-1) === "published") unseen.set(callId, event.phases.slice(0, -1))
        else line(event.at, callId, tool, event.phases.join(" > "))
      } else if (event._tag === "Outcome") {
        const { result } = event.outcome
        const phases = [...(unseen.get(result.callId) ?? []), "published"]
        ended.add(result.callId)
        line(event.at, result.callId, result.tool, `${phases.join(" > ")}  ${codeOf(result)}${alive(event.outcome)}`)
      }
    }
  }
}

const seconds = (millis: number): string => `${(millis / 1000).toFixed(1)} s`

/** The calls of the step that runs, drawn in place. */
export const live = (output: Output, plan: Plan.Plan): Display => {
  const name = nameIn(plan)
  let title = ""
  let lines = new Map<string, (now: number) => string>()
  const tick = (now: number): void => output.draw([title, ...[...lines.values()].map((line) => line(now))])
  return {
    tick,
    show: (event) => {
      if (event._tag === "Step") {
        title = `Step ${event.step + 1} of ${plan.steps.length}`
        lines = new Map(event.calls.map(({ id, tool }) => [id, () => `  ${name(id, tool)}  waiting`]))
      } else if (event._tag === "Phases") {
        const { callId, cancelledAt, phase, startedAt, tool } = event.status
        if (phase === "published") return
        lines.set(callId, (now) => {
          const since = cancelledAt === undefined ? "" : `, cancelled ${seconds(now - cancelledAt)} ago`
          return `  ${name(callId, tool)}  ${phase}  ${seconds(now - startedAt)}${since}`
        })
      } else {
        const { millis, result } = event.outcome
        const text = `  ${name(result.callId, result.tool)}  ${codeOf(result)}  ${seconds(millis)}${alive(event.outcome)}`
        lines.set(result.callId, () => text)
      }
      tick(event.at)
    }
  }
}
