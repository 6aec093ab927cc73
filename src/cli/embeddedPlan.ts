/**
 * The plan that runs when none is given: one call for each way in which a call can end.
 */
import type * as Plan from "./plan.js"

const bash = (script: string, more: object = {}) => ({ command: "bash", args: ["-c", script], ...more })

// 8 MiB: they are written in pieces, and the cancel comes with the first of them.
const bigText = (): string => "All work and no play makes Jack a dull boy.\n".repeat(190_000).slice(0, 8 * 1024 * 1024)

const prepare: ReadonlyArray<Plan.WrittenCall> = [
  { id: "write_note", tool: "write_file", parameters: { path: "note.txt", text: "water the plants\n" } },
  // Leaves a child in the background. The call ends when that is gone too.
  { id: "background_child", tool: "run_command", parameters: bash("sleep 60 & echo started") }
]

const fail: ReadonlyArray<Plan.WrittenCall> = [
  { id: "list_folder", tool: "list_files", parameters: {} },
  { id: "read_missing", tool: "read_file", parameters: { path: "missing.txt" } },
  { id: "exit_code_1", tool: "run_command", parameters: bash("echo no >&2; exit 1", { mustSucceed: true }) },
  { id: "forbidden", tool: "run_command", parameters: bash("rm -f note.txt"), deny: "removing files is not allowed" },
  { id: "wrong_parameters", tool: "write_file", parameters: { path: 7 }, expect: "INVALID_ARGS" },
  { id: "no_such_tool", tool: "send_mail", parameters: {}, expect: "UNKNOWN_TOOL" }
]

const stop = (): ReadonlyArray<Plan.WrittenCall> => [
  {
    id: "stopped_before",
    tool: "write_file",
    parameters: { path: "never.txt", text: "never\n" },
    cancel: { phase: "before" }
  },
  {
    id: "stopped_command",
    tool: "run_command",
    parameters: { command: "sleep", args: ["60"] },
    cancel: { phase: "dispatching" }
  },
  // Ignores SIGTERM, so that it has to be killed when its grace is over.
  {
    id: "stubborn_command",
    tool: "run_command",
    parameters: bash(`trap "" TERM; while :; do sleep 0.1; done`, { graceMillis: 500 }),
    cancel: { afterMillis: 300 }
  },
  // Would replace the note. The old one stays, whole.
  {
    id: "stopped_write",
    tool: "write_file",
    parameters: { path: "note.txt", text: bigText() },
    cancel: { phase: "dispatching" }
  },
  // Its body had ended when the cancel came: what it did stands, and so does its success.
  {
    id: "stopped_too_late",
    tool: "write_file",
    parameters: { path: "late.txt", text: "written all the same\n" },
    cancel: { phase: "settled" }
  },
  { id: "too_slow", tool: "run_command", parameters: { command: "sleep", args: ["60"] }, timeoutMillis: 400 }
]

const look: ReadonlyArray<Plan.WrittenCall> = [
  { id: "note_untouched", tool: "read_file", parameters: { path: "note.txt" } },
  { id: "late_written", tool: "read_file", parameters: { path: "late.txt" } },
  { id: "never_written", tool: "read_file", parameters: { path: "never.txt" } }
]

/** The built-in plan. It is checked like any other. */
export const embeddedPlan = (): {
  readonly steps: ReadonlyArray<{ readonly calls: ReadonlyArray<Plan.WrittenCall> }>
} => ({
  steps: [{ calls: prepare }, { calls: fail }, { calls: stop() }, { calls: look }]
})
