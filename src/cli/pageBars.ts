/**
 * What a call went through, as bars on the time axis of its turn.
 *
 * Places and widths are attributes of SVG: the page allows no style but its own.
 */
import { escapeHtml } from "../internal/node/htmlPage.js"
import type { CallRecord } from "./recording.js"

/** A stretch of time. Times are milliseconds since 1970. */
export interface Bar {
  readonly kind: "decided" | "body" | "stopping" | "told" | "model"
  readonly from: number
  readonly to: number
}

const labels = {
  decided: "being decided",
  body: "its body runs",
  stopping: "cancelled, and not quiet yet",
  told: "quiet, and waiting for its turn in the log",
  model: "the model answers"
} as const

/** The colours of the bars. */
export const style = `
.bars svg { display: block; height: 14px; overflow: visible; width: 100%; }
.legend svg { height: 10px; vertical-align: baseline; width: 14px; }
.legend { color: GrayText; font-size: 12px; }
rect.track { fill: #8881; } rect.decided { fill: #b0bec5; } rect.body { fill: #1e88e5; } rect.stopping { fill: #e53935; }
rect.told { fill: #c5cae9; } rect.model { fill: #8e24aa; } line.cancel { stroke: #b71c1c; stroke-width: 2px; }
`

/** What each colour means. */
export const legend = `<span class="legend">${Object.entries(labels)
  .map(([kind, label]) => `<svg><rect class="${kind}" width="14" height="10" /></svg> ${escapeHtml(label)}`)
  .join(" &nbsp; ")}</span>`

/** The bars of a call, and the times at which it was cancelled. */
export const barsOf = ({
  cancelledAt,
  endedAt,
  phases
}: CallRecord): readonly [ReadonlyArray<Bar>, ReadonlyArray<number>] => {
  const at = (...names: ReadonlyArray<string>): number | undefined =>
    phases.find(({ phase }) => names.includes(phase))?.at
  const start = phases[0]?.at
  const end = endedAt ?? phases.at(-1)?.at
  if (start === undefined || end === undefined) return [[], []]
  const quiet = at("settled", "reviewed", "published") ?? end
  const called = Math.min(at("dispatching") ?? quiet, quiet)
  const stopped = Math.min(Math.max(cancelledAt ?? quiet, called), quiet)
  const bars: ReadonlyArray<Bar> = [
    { kind: "decided", from: start, to: called },
    { kind: "body", from: called, to: stopped },
    { kind: "stopping", from: stopped, to: quiet },
    { kind: "told", from: quiet, to: end }
  ]
  return [bars.filter(({ from, to }) => to > from), cancelledAt === undefined ? [] : [cancelledAt]]
}

/** Draws bars, and lines for cancels, on an axis. */
export const spanOf =
  (start: number, end: number) =>
  (bars: ReadonlyArray<Bar>, cancels: ReadonlyArray<number> = []): string => {
    const length = Math.max(1, end - start)
    const percent = (millis: number): string =>
      `${((100 * Math.min(Math.max(millis, 0), length)) / length).toFixed(2)}%`
    const rects = bars.map(({ from, kind, to }) => {
      const title = `${labels[kind]}: ${to - from} ms`
      // A bar of no width could not be seen.
      const width = `${Math.max(0.15, (100 * (to - from)) / length).toFixed(2)}%`
      return `<rect class="${kind}" x="${percent(from - start)}" width="${width}" height="14"><title>${title}</title></rect>`
    })
    const lines = cancels.map((at) => {
      const x = percent(at - start)
      return `<line class="cancel" x1="${x}" x2="${x}" y1="-2" y2="16"><title>cancelled</title></line>`
    })
    return `<svg role="img" aria-label="timeline"><rect class="track" width="100%" height="14" />${rects.join("")}${lines.join("")}</svg>`
  }
