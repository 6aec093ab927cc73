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

/** @internal */
export const markOf = (entry: Entry): string => (entry.kind === "step" && entry.masked ? "┃" : marks[entry.kind])

/**
 * What happened, in words.
 *
 * @internal
 */
export const wordingOf = (entry: Entry): string => {
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

/**
 * Entries worth a line: everything but steps, the first step after another fiber ran, and what `keep` asks for.
 *
 * @internal
 */
export const telling = <E extends Entry>(
  timeline: ReadonlyArray<E>,
  keep: (entry: E) => boolean = () => false
): ReadonlyArray<E> => {
  let running = ""
  return timeline.filter((entry) => {
    if (entry.kind !== "step") return true
    const changed = entry.label !== running
    running = entry.label
    return changed || keep(entry)
  })
}

/**
 * The columns that some lines need.
 *
 * @internal
 */
export const lanesOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => [
  "env",
  ...new Set(entries.map(({ label }) => label).filter((label) => label !== "env"))
]

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
  const lanes = lanesOf(shown)
  const head = `  step  ${lanes.map((lane) => lane.padEnd(width(lane))).join("")}what happened`
  const lines = shown.map((entry) => {
    const columns = lanes.map((lane) => (lane === entry.label ? markOf(entry) : "·").padEnd(width(lane)))
    return `${String(entry.step).padStart(6)}  ${columns.join("")}${wordingOf(entry)}`
  })
  const folded = entries.length - shown.length
  return [head, ...(folded > 0 ? [`        (${folded} earlier lines left out)`] : []), ...lines].join("\n")
}
