/**
 * Draws the timeline of a failure as a page of HTML: one string, nothing to load, every name in it escaped.
 */
import { escapeHtml, htmlPage } from "../node/htmlPage.js"
import type { Entry } from "./run.js"
import { lanesOf, markOf, telling, wordingOf } from "./timeline.js"

/**
 * The steps of a fiber before which a fault does the same harm; while it waits behind them, if `waiting`.
 *
 * @internal
 */
export interface Window {
  readonly key: string
  readonly from: number
  readonly to: number
  readonly waiting: boolean
}

/**
 * A run to be drawn.
 *
 * @internal
 */
export interface Drawing {
  readonly title: string
  readonly timeline: ReadonlyArray<Entry>
  readonly window: Window | undefined
  /** Whether the fault of the window has struck in it: what its fiber did then is not what the window was found in. */
  readonly hasStruck: boolean
}

/** @internal */
export interface Page {
  readonly title: string
  readonly problem: string
  /** The command that runs the schedule again; none where the scenario itself is at fault. */
  readonly replay: string | undefined
  readonly remarks: ReadonlyArray<string>
  readonly drawings: ReadonlyArray<Drawing>
}

const maxRows = 1_000
const maxLanes = 40
const others = "other fibers"

const style = `
:root { color-scheme: light dark; --line: #8884; --window: #f5a62333; --fault: #d0021b; --switch: #0b7fd4; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem; }
h1 { font-size: 1.2rem; white-space: pre-wrap; }
h2 { font-size: 1rem; }
code, td, th { font-family: ui-monospace, monospace; unicode-bidi: isolate; }
code { user-select: all; }
table { border-collapse: collapse; font-size: 13px; }
th { background: Canvas; position: sticky; text-align: left; top: 0; }
td, th { padding: 0 .7rem 0 .2rem; vertical-align: top; white-space: pre-wrap; }
.lane { border-left: 1px solid var(--line); }
.step { opacity: .6; text-align: right; }
.window { background: var(--window); }
.fault { color: var(--fault); font-weight: bold; }
.switch { color: var(--switch); font-weight: bold; }
`

const script = `
document.getElementById("copy").addEventListener("click", (event) => {
  const text = document.getElementById("replay").textContent;
  navigator.clipboard.writeText(text).then(() => { event.target.textContent = "copied"; });
});
`

/** An entry with the number of the step within its fiber, as schedules count. */
interface Counted extends Entry {
  readonly count: number
  readonly isInWindow: boolean
}

const counted = ({ hasStruck, timeline, window }: Drawing): ReadonlyArray<Counted> => {
  const counts = new Map<string, number>()
  const end = hasStruck ? timeline.findLastIndex(({ kind }) => kind === "fault") : timeline.length
  let isIn = false
  return timeline.map((entry, index) => {
    const count = counts.get(entry.label) ?? 0
    if (entry.kind === "step") counts.set(entry.label, count + 1)
    if (window !== undefined && entry.kind === "step" && entry.label === window.key) {
      // What happens up to the next step of its fiber belongs to it: a fault comes before a step, never in one.
      isIn = window.waiting ? count >= window.from - 1 && count < window.to : count >= window.from && count <= window.to
    }
    return { ...entry, count, isInWindow: isIn && index <= end }
  })
}

const row = (lanes: ReadonlyArray<string>, entry: Counted): string => {
  const isOther = !lanes.includes(entry.label)
  const lane = isOther ? others : entry.label
  const classes = [entry.kind, ...(entry.isInWindow ? ["window"] : [])].join(" ")
  const cells = lanes.map((name) => `<td class="lane">${name === lane ? markOf(entry) : ""}</td>`).join("")
  const text = isOther ? `${entry.label}: ${wordingOf(entry)}` : wordingOf(entry)
  const title =
    entry.kind === "step" ? ` title="${escapeHtml(`step ${entry.count} of ${entry.label}: ${entry.text}`)}"` : ""
  return `<tr class="${classes}"${title}><td class="step">${entry.step}</td>${cells}<td>${escapeHtml(text)}</td></tr>`
}

const draw = (drawing: Drawing): string => {
  const all = telling(counted(drawing), ({ isInWindow }) => isInWindow)
  const shown = all.slice(-maxRows)
  const names = lanesOf(shown)
  const lanes = names.length <= maxLanes ? names : [...names.slice(0, maxLanes - 1), others]
  const head = lanes.map((lane) => `<th class="lane" scope="col">${escapeHtml(lane)}</th>`).join("")
  const folded = all.length - shown.length
  return [
    `<h2>${escapeHtml(drawing.title)}</h2>`,
    ...(folded > 0 ? [`<p>${folded} earlier lines are left out.</p>`] : []),
    "<table>",
    `<thead><tr><th class="step" scope="col">step</th>${head}<th scope="col">what happened</th></tr></thead>`,
    "<tbody>",
    ...shown.map((entry) => row(lanes, entry)),
    "</tbody>",
    "</table>"
  ].join("\n")
}

/** @internal */
export const drawPage = ({ drawings, problem, remarks, replay, title }: Page): string =>
  htmlPage({
    title,
    style,
    script: replay === undefined ? undefined : script,
    body: [
      `<h1>✗ ${escapeHtml(problem)}</h1>`,
      ...(replay === undefined
        ? []
        : [
            `<p>Replay: <code id="replay">${escapeHtml(replay)}</code> <button id="copy" type="button">copy</button></p>`
          ]),
      ...remarks.map((remark) => `<p>${escapeHtml(remark)}</p>`),
      ...drawings.map(draw)
    ]
  })
