/**
 * Shows what became of calls: as a table for people, as JSON for programs.
 */
import type * as ToolResult from "../ToolResult.js"
import type { Outcome } from "./recording.js"

/** The code of a result, `OK` for a success. */
export const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const headings = ["call", "tool", "code", "dispatched", "body", "quiet after", "still alive"]

const cells = ({ quietMillis, result, stillAlive }: Outcome): ReadonlyArray<string> => [
  result.callId,
  result.tool,
  codeOf(result),
  result.dispatched ? "yes" : "no",
  result.body,
  quietMillis === undefined ? "-" : `${quietMillis} ms`,
  stillAlive.length === 0 ? "nothing" : stillAlive.join("; ")
]

/** One line for each call, below headings. */
export const table = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const rows = [headings, ...outcomes.map(cells)]
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)))
  const line = (row: ReadonlyArray<string>): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.slice(1).map(line)]
}

/** The outcomes as JSON. */
export const toJson = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map(({ millis, quietMillis, result, step, stillAlive, turn }) => ({
    turn,
    step,
    call: result.callId,
    tool: result.tool,
    code: codeOf(result),
    dispatched: result.dispatched,
    body: result.body,
    millis,
    timeToQuietMillis: quietMillis ?? null,
    stillAlive,
    result
  }))
