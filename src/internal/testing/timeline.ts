/**
 * Draws what happened in a run: a column for each fiber, quiet steps folded.
 */
import type { Entry } from "./run.js"

const marks: { readonly [K in Entry["kind"]]: string } = {
  step: "│",
  note: "│",
  event: "●",
  fault: "⚡",
  external: "◆",
  timer: "◷",
  switch: "↯",
  wait: "◌",
  exit: "■"
}

const wording = (entry: Entry): string => {
  switch (entry.kind) {
    case "fault":
      return `FAULT ${entry.text}`
    case "timer":
      return `time is ${entry.text}`
    case "step":
      return entry.masked ? "goes on, uninterruptible" : "goes on"
    case "wait":
      return `waits for ${entry.text}`
    case "event":
      return `"${entry.text}"`
    case "external":
      return `external ${entry.text}`
    default:
      return entry.text
  }
}

/** Entries worth a line: everything but steps, and the first step after another fiber ran. */
const telling = (timeline: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  let running = ""
  return timeline.filter((entry) => {
    if (entry.kind !== "step") return true
    const changed = entry.label !== running
    running = entry.label
    return changed
  })
}

/**
 * A timeline as text.
 *
 * @internal
 */
export const drawTimeline = (timeline: ReadonlyArray<Entry>, maxLines = 60): string => {
  const entries = telling(timeline)
  const width = (lane: string) => Math.max(lane.length, 3) + 2
  const shown = entries.length <= maxLines ? entries : entries.slice(-maxLines)
  // Of the lines that are shown: a livelock may start thousands of fibers, and a column for each fits in no memory.
  const lanes = ["env", ...new Set(shown.map(({ label }) => label).filter((label) => label !== "env"))]
  const head = `  step  ${lanes.map((lane) => lane.padEnd(width(lane))).join("")}what happened`
  const lines = shown.map((entry) => {
    const mark = entry.kind === "step" && entry.masked ? "┃" : marks[entry.kind]
    const columns = lanes.map((lane) => (lane === entry.label ? mark : "·").padEnd(width(lane)))
    return `${String(entry.step).padStart(6)}  ${columns.join("")}${wording(entry)}`
  })
  const folded = entries.length - shown.length
  return [head, ...(folded > 0 ? [`        (${folded} earlier lines left out)`] : []), ...lines].join("\n")
}
