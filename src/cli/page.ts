/**
 * The page of a session: its turns, requests and calls on one time axis each, with what was true of every call.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as AgentEvent from "../AgentEvent.js"
import * as CancelCause from "../CancelCause.js"
import { escapeHtml, htmlPage } from "../internal/node/htmlPage.js"
import { describeThrown } from "../internal/thrown.js"
import { BadInput } from "./badInput.js"
import { type Bar, style as barStyle, barsOf, legend, spanOf } from "./pageBars.js"
import type { CallRecord } from "./recording.js"
import { codeOf } from "./table.js"

/** What there is to draw. */
export interface Content {
  readonly events: ReadonlyArray<AgentEvent.Envelope>
  readonly calls: ReadonlyArray<CallRecord>
}

const style = `
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem 2rem; }
h1 { font-size: 1.3rem; margin: 0 0 .3rem; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .2rem; }
p { margin: .2rem 0; }
.said { white-space: pre-wrap; max-width: 80rem; }
form { align-items: center; background: Canvas; display: flex; gap: 1rem; padding: .5rem 0; position: sticky; top: 0; z-index: 1; }
table { border-collapse: collapse; font-size: 13px; table-layout: fixed; width: 100%; }
th { text-align: left; font-weight: 600; }
td, th { border-bottom: 1px solid var(--line); overflow: hidden; padding: .1rem .6rem .1rem .1rem; text-overflow: ellipsis; white-space: nowrap; }
td { font-family: ui-monospace, monospace; unicode-bidi: isolate; }
th.step { width: 2.5rem; } th.call { width: 17rem; } th.code { width: 13rem; } th.body { width: 7rem; } th.millis { width: 5rem; } th.quiet { width: 6rem; }
td.millis, td.quiet { text-align: right; }
tr.failed td.code { color: var(--bad); font-weight: 600; }
tr.model { opacity: .75; }
tr.why td { border: 0; color: GrayText; padding-left: 3rem; white-space: pre-wrap; }
tr.hidden { display: none; }
${barStyle}
`

const script = `
const search = document.getElementById("search");
const failed = document.getElementById("failed");
const rows = [...document.querySelectorAll("tbody tr")];
const filter = () => {
  const words = search.value.toLowerCase().split(" ").filter(Boolean);
  for (const row of rows) {
    const isShown = words.every((word) => row.dataset.words.includes(word)) && (!failed.checked || row.dataset.failed === "1");
    row.classList.toggle("hidden", !isShown);
  }
};
search.addEventListener("input", filter);
failed.addEventListener("change", filter);
`

/** The events of one turn, and the calls that it made. */
interface Turn {
  readonly number: number
  readonly events: Array<AgentEvent.Envelope>
  readonly calls: ReadonlyArray<CallRecord>
}

const turnsOf = ({ calls, events }: Content): ReadonlyArray<Turn> => {
  const turns = new Map<number, Turn>()
  for (const envelope of events) {
    const { event } = envelope
    if (!("turn" in event)) continue
    const number = event.turn
    const turn = turns.get(number) ?? { number, events: [], calls: calls.filter((call) => call.turn === number) }
    turns.set(number, turn)
    turn.events.push(envelope)
  }
  return [...turns.values()]
}

const seconds = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(millis < 10_000 ? 2 : 1)} s`

const cell = (name: string, text: string): string =>
  `<td class="${name}" title="${escapeHtml(text)}">${escapeHtml(text)}</td>`

const row = (
  kind: string,
  step: number,
  cells: ReadonlyArray<readonly [string, string]>,
  bars: string,
  failed: boolean
) => {
  const words = escapeHtml(
    cells
      .map(([, text]) => text)
      .join(" ")
      .toLowerCase()
  )
  const classes = failed ? `${kind} failed` : kind
  return `<tr class="${classes}" data-failed="${failed ? 1 : 0}" data-words="${words}"><td class="step">${step}</td>${cells
    .map(([name, text]) => cell(name, text))
    .join("")}<td class="bars">${bars}</td></tr>`
}

/** A line below a call that did not succeed: what its model was told, and who cancelled it. */
const whyOf = ({ callId, outcome, tool }: CallRecord): string => {
  if (outcome?.result._tag !== "Failure") return ""
  const { cause, message } = outcome.result
  const why = cause === undefined ? message : `${message}, ${CancelCause.describe(cause)}`
  const text = [why, ...outcome.stillAlive.map((what) => `still alive: ${what}`)].join("\n")
  const words = escapeHtml(`${tool} ${callId} ${outcome.result.code} ${text}`.toLowerCase())
  return `<tr class="why" data-failed="1" data-words="${words}"><td colspan="7">${escapeHtml(text.slice(0, 2000))}</td></tr>`
}

const depthOf = ({ callId, parentId }: CallRecord, calls: ReadonlyArray<CallRecord>): number => {
  if (parentId === undefined) return 0
  const parent = calls.find((call) => call.callId === parentId && call.callId !== callId)
  return parent === undefined ? 0 : depthOf(parent, calls) + 1
}

const callRow = (call: CallRecord, depth: number, bars: string): string => {
  const { callId, outcome, step, tool } = call
  const result = outcome?.result
  const body = result === undefined ? "" : `${result.dispatched ? "" : "not called, "}${result.body}`
  return (
    row(
      "call-row",
      step,
      [
        ["call", `${"\u00a0\u00a0".repeat(depth)}${tool} ${callId}`],
        ["code", result === undefined ? "runs" : codeOf(result)],
        ["body", body.replace("not called, not-started", "not called")],
        ["millis", outcome === undefined ? "" : seconds(outcome.millis)],
        ["quiet", outcome?.quietMillis === undefined ? "" : seconds(outcome.quietMillis)]
      ],
      bars,
      result?._tag === "Failure"
    ) + whyOf(call)
  )
}

/** From each request to the model to its answer. */
const requestsOf = ({
  events
}: Turn): ReadonlyArray<{ readonly step: number; readonly code: string; readonly bar: Bar }> => {
  const requests: Array<{ readonly step: number; readonly code: string; readonly bar: Bar }> = []
  let asked: { readonly step: number; readonly at: number } | undefined
  for (const { at, event } of events) {
    if (event._tag === "ModelRequested") asked = { step: event.step, at }
    if (asked === undefined) continue
    const code =
      event._tag === "RequestFailed"
        ? event.code
        : event._tag === "AssistantMessage" && !event.interrupted
          ? "OK"
          : "cut off"
    const isEnd = event._tag === "RequestFailed" || event._tag === "AssistantMessage" || event._tag === "StepEnded"
    if (!isEnd) continue
    requests.push({ step: asked.step, code, bar: { kind: "model", from: asked.at, to: at } })
    asked = undefined
  }
  return requests
}

const outcomeOf = ({ events }: Turn): string => {
  const last = events.at(-1)?.event
  if (last?._tag !== "TurnEnded") return "still runs"
  const { outcome } = last
  switch (outcome._tag) {
    case "Cancelled":
      return CancelCause.describe(outcome.cause as CancelCause.CancelCause)
    case "Error":
      return `failed: ${outcome.message}`
    case "Blocked":
      return `refused: ${outcome.reason}`
    default:
      return outcome._tag.toLowerCase()
  }
}

const drawTurn = (turn: Turn): ReadonlyArray<string> => {
  const from = turn.events[0]?.at ?? 0
  const to = turn.events.reduce((latest, { at }) => Math.max(latest, at), from)
  const span = spanOf(from, to)
  const said = turn.events.flatMap(({ event }) =>
    event._tag === "UserMessage"
      ? event.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`))
      : []
  )
  const requests = requestsOf(turn)
  const steps = [...new Set([...requests, ...turn.calls].map(({ step }) => step))].sort((a, b) => a - b)
  return [
    `<h2>Turn ${turn.number}: ${escapeHtml(outcomeOf(turn))}, ${seconds(to - from)}</h2>`,
    ...said.map((text) => `<p class="said">${escapeHtml(text.slice(0, 2000))}</p>`),
    `<table><thead><tr><th class="step">step</th><th class="call">call</th><th class="code">code</th><th class="body">body</th><th class="millis">took</th><th class="quiet">quiet after</th><th class="bars">0 to ${seconds(to - from)}</th></tr></thead><tbody>`,
    ...steps.flatMap((step) => [
      ...requests
        .filter((request) => request.step === step)
        .map(({ bar, code }) =>
          row(
            "model",
            step,
            [
              ["call", "model"],
              ["code", code],
              ["body", ""],
              ["millis", seconds(bar.to - bar.from)],
              ["quiet", ""]
            ],
            span([bar]),
            code !== "OK"
          )
        ),
      ...turn.calls
        .filter((call) => call.step === step)
        .map((call) => callRow(call, depthOf(call, turn.calls), span(...barsOf(call))))
    ]),
    "</tbody></table>"
  ]
}

const summaryOf = ({ calls }: Content): string => {
  const counts = new Map<string, number>()
  for (const { outcome } of calls) {
    const code = outcome === undefined ? "still running" : codeOf(outcome.result)
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  const parts = [...counts].sort(([, a], [, b]) => b - a).map(([code, count]) => `${count} ${code}`)
  return `${calls.length} calls: ${parts.join(", ") || "none"}`
}

/** The page, whole. */
export const draw = (content: Content): string =>
  htmlPage({
    title: "quiesce run",
    style,
    script,
    body: [
      "<h1>quiesce run</h1>",
      `<p>${escapeHtml(summaryOf(content))}</p>`,
      `<form><input id="search" type="search" placeholder="tool, id, code" aria-label="filter" /> <label><input id="failed" type="checkbox" /> only what did not succeed</label> ${legend}</form>`,
      ...turnsOf(content).flatMap(drawTurn)
    ]
  })

const refuse = (file: string, problem: string): BadInput =>
  new BadInput({ messages: [`--html ${file}: ${problem}: expected a file in a folder that exists`] })

/** Fails where a page could not be written, while nothing has been done yet. */
export const mustBeWritable = (file: string): Effect.Effect<void, BadInput> =>
  Effect.suspend(() => {
    if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) return refuse(file, "it is a folder")
    try {
      fs.accessSync(fs.existsSync(file) ? file : path.dirname(path.resolve(file)), fs.constants.W_OK)
      return Effect.void
    } catch (error) {
      return refuse(file, describeThrown(error).message)
    }
  })

/** Writes the page. Succeeds with whether that was possible. */
export const write = (file: string, content: Content): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    try {
      fs.writeFileSync(file, draw(content))
      return Effect.succeed(true)
    } catch (error) {
      const problem = `The page ${file} could not be written: ${describeThrown(error).message}`
      return Effect.as(Effect.logWarning(problem), false)
    }
  })
