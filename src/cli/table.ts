/**
 * Shows what became of calls: as a table for people, as JSON for programs.
 */
import type * as ToolResult from "../ToolResult.js"
import type { Outcome } from "./recording.js"
import { oneLine, pad, widthOf } from "./text.js"

/** The code of a result, `OK` for a success. */
export const codeOf = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

const headings = ["call", "tool", "code", "dispatched", "body", "quiet after", "still alive"]

/** A call in the place that it has in the tree of calls: two signs in for each call that it is a part of. */
export const indented = (outcomes: ReadonlyArray<{ readonly id: string; readonly parentId: string | undefined }>) => {
  const depths = new Map<string, number>()
  return outcomes.map(({ id, parentId }) => {
    const depth = parentId === undefined ? 0 : (depths.get(parentId) ?? 0) + 1
    depths.set(id, depth)
    return `${"  ".repeat(depth)}${id}`
  })
}

const cells = ({ quietMillis, result, stillAlive }: Outcome, name: string): ReadonlyArray<string> => [
  name,
  result.tool,
  codeOf(result),
  result.dispatched ? "yes" : "no",
  result.body,
  quietMillis === undefined ? "-" : `${quietMillis} ms`,
  stillAlive.length === 0 ? "nothing" : stillAlive.join("; ")
]

/** One line for each call, below headings. */
export const table = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const names = indented(outcomes.map(({ parentId, result }) => ({ id: result.callId, parentId })))
  const rows = [headings, ...outcomes.map((outcome, i) => cells(outcome, names[i] ?? "").map(oneLine))]
  const widths = headings.map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[column] ?? "")), 0)
  )
  const line = (row: ReadonlyArray<string>): string =>
    row
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.slice(1).map(line)]
}

/** The outcomes as JSON. */
export const toJson = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.map(({ millis, parentId, quietMillis, result, step, stillAlive, turn }) => ({
    turn,
    step,
    call: result.callId,
    ...(parentId === undefined ? {} : { parent: parentId }),
    tool: result.tool,
    code: codeOf(result),
    dispatched: result.dispatched,
    body: result.body,
    millis,
    timeToQuietMillis: quietMillis ?? null,
    stillAlive,
    result
  }))
