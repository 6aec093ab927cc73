/**
 * The tools that a plan can call: files below the workspace, and commands in it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as FileSystem from "../capability/FileSystem.js"
import * as Process from "../capability/Process.js"
import * as Tool from "../Tool.js"
import { ToolContext } from "../ToolContext.js"
import { ToolFailure } from "../ToolError.js"
import * as Toolkit from "../Toolkit.js"
import { markOf } from "./stillAlive.js"

/** What the tools of one runtime have in common. */
export interface Options {
  /** The folder that commands run in. */
  readonly cwd: string
  /** The time that each tool has for a call. Default: no limit. */
  readonly timeoutMillis?: number | undefined
}

const readFile = ({ timeoutMillis }: Options) =>
  Tool.make("read_file", {
    description: "Reads a text file of the workspace",
    parameters: { path: Schema.String },
    success: Schema.String,
    failure: FileSystem.FileSystemError,
    timeout: timeoutMillis,
    concurrency: "parallel",
    handler: ({ path }) => FileSystem.readText(path)
  })

const listFiles = ({ timeoutMillis }: Options) =>
  Tool.make("list_files", {
    description: "Lists the entries of a folder of the workspace",
    parameters: { path: Schema.optionalWith(Schema.String, { default: () => "." }) },
    success: Schema.Array(FileSystem.Entry),
    failure: FileSystem.FileSystemError,
    timeout: timeoutMillis,
    concurrency: "parallel",
    handler: ({ path }) => FileSystem.list(path)
  })

const writeFile = ({ timeoutMillis }: Options) =>
  Tool.make("write_file", {
    description: "Writes a text file of the workspace, as a whole or not at all",
    parameters: { path: Schema.String, text: Schema.String },
    success: Schema.Struct({ path: Schema.String }),
    failure: FileSystem.FileSystemError,
    timeout: timeoutMillis,
    handler: ({ path, text }) => Effect.as(FileSystem.writeText(path, text), { path })
  })

const CommandResult = Schema.Struct({
  exitCode: Schema.NullOr(Schema.Number),
  signal: Schema.NullOr(Schema.String),
  stdout: Schema.String,
  stderr: Schema.String,
  truncated: Schema.Boolean
})

const complain = (command: string, { exitCode, signal, stderr }: Process.RunResult): ToolFailure => {
  const end = exitCode === undefined ? `was ended by ${signal}` : `exited with ${exitCode}`
  const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`
  return new ToolFailure({ message: `"${command}" ${end}${said}` })
}

const runCommand = ({ cwd, timeoutMillis }: Options) =>
  Tool.make("run_command", {
    description: "Runs a command in the workspace, without a shell, and waits until nothing of it is left",
    parameters: {
      command: Schema.String,
      args: Schema.optional(Schema.Array(Schema.String)),
      stdin: Schema.optional(Schema.String),
      graceMillis: Schema.optional(Schema.NonNegativeInt),
      mustSucceed: Schema.optionalWith(Schema.Boolean, { default: () => false })
    },
    success: CommandResult,
    failure: Schema.Union(Process.ProcessError, ToolFailure),
    timeout: timeoutMillis,
    handler: ({ args, command, graceMillis, mustSucceed, stdin }) =>
      Effect.gen(function* () {
        const { callId } = yield* ToolContext
        const result = yield* Process.run({ command, args, stdin, cwd, grace: graceMillis, env: markOf(callId) })
        if (mustSucceed && result.exitCode !== 0) return yield* complain(command, result)
        return {
          exitCode: result.exitCode ?? null,
          signal: result.signal ?? null,
          stdout: result.stdout,
          stderr: result.stderr,
          truncated: result.stdoutTruncated || result.stderrTruncated
        }
      })
  })

/** The tools of one runtime. */
export const makeToolkit = (options: Options) =>
  Toolkit.make(readFile(options), listFiles(options), writeFile(options), runCommand(options))
