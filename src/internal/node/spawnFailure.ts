/**
 * Finds out why nothing was started.
 *
 * Node says `ENOENT` for a missing folder, a missing command and a missing interpreter of a script alike, and whoever reads
 * the message has to do something else for each. So the file system is asked, after the fact and only then.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Process from "../../capability/Process.js"

/** @internal */
export const failure = (
  { command, cwd }: Process.RunOptions,
  reason: Process.Reason,
  detail?: string
): Process.ProcessError => new Process.ProcessError({ reason, command, cwd, detail })

const isThere = (what: "file" | "folder", name: string): boolean => {
  try {
    return fs.statSync(name).isDirectory() === (what === "folder")
  } catch {
    return false
  }
}

const mayEnter = (folder: string): boolean => {
  try {
    fs.accessSync(folder, fs.constants.X_OK)
    return true
  } catch {
    /* v8 ignore next 2 */ // The user root may enter every folder.
    return false
  }
}

/** Whether the command names a file, below its working directory or in the `PATH` that is searched. */
const isFound = ({ command, cwd = "." }: Process.RunOptions, searched: string): boolean =>
  (command.includes("/") ? ["."] : searched.split(":")).some((folder) =>
    isThere("file", path.resolve(cwd, folder, command))
  )

/**
 * What an error of `spawn` means. `searched` is the `PATH` of the command.
 *
 * @internal
 */
export const explain = (
  options: Process.RunOptions,
  searched: string,
  error: NodeJS.ErrnoException
): Process.ProcessError => {
  const { cwd } = options
  if (error.code?.startsWith("ERR_INVALID_ARG") === true) {
    // Not Node's own message: it quotes the argument, which may be a secret.
    return failure(options, "InvalidOptions", "the command is empty, or some text contains a NUL character")
  }
  if (cwd !== undefined && !isThere("folder", cwd)) {
    return failure(options, "BadWorkingDirectory", "there is no such folder")
  }
  if (cwd !== undefined && !mayEnter(cwd)) return failure(options, "BadWorkingDirectory", "it may not be entered")
  switch (error.code) {
    case "ENOENT":
    case "ENOTDIR":
      return failure(options, isFound(options, searched) ? "InterpreterNotFound" : "CommandNotFound")
    case "EACCES":
      return failure(options, "NotExecutable", isFound(options, searched) ? undefined : "it is a folder")
    default:
      return failure(options, "SpawnFailed", error.code ?? error.message)
  }
}
