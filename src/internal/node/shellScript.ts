/**
 * What is written to the shell of a session.
 *
 * The shell is interactive: only then does a SIGINT end the command that it runs, whole, and not the shell. It has no
 * terminal and so no job control: all its commands stay in its process group, and those in the background ignore SIGINT.
 *
 * A command is evaluated by the shell itself, so that what it does to the shell stays. Its line is complete when the mark of
 * its beginning is printed; the line that prints the end is written only after that, because a shell that reads ahead
 * (dash) drops what it has read when it is interrupted. Every ending of that line is harmless as a line of its own: an
 * interrupt can cut it.
 */
import * as fs from "node:fs"
import * as path from "node:path"

const isExecutable = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * The shell to start, and its arguments.
 *
 * @internal
 */
export const shellIn = (searched: string): { readonly name: string; readonly args: ReadonlyArray<string> } =>
  searched.split(":").some((folder) => isExecutable(path.resolve(folder, "bash")))
    ? { name: "bash", args: ["--norc", "--noprofile", "--noediting", "-i"] }
    : { name: "sh", args: ["-i"] }

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The mark that a stream has at an instant of a command. The end is followed by its exit code.
 *
 * @internal
 */
export const markOf = (nonce: string, number: number, what: "begin" | "end"): string => `<${nonce} ${number} ${what} `

const printer = (name: string, what: string, nonce: string): string =>
  `${name}() { for __quiesce in 8 9; do command printf '<${nonce} %s ${what} %s>' "$1" "$2" >&"$__quiesce"; done; }`

/**
 * Makes the shell ready. Its last line prints the end of a command 0.
 *
 * @internal
 */
export const prologue = (shell: string, nonce: string): string =>
  [
    "exec 8>&1 9>&2",
    "PS1= PS2=",
    // An interactive shell ignores SIGTERM.
    "trap 'exit 143' TERM",
    ...(shell === "bash" ? ["set +o history +H", "unset HISTFILE MAILCHECK"] : []),
    printer("__quiesce_begin", "begin", nonce),
    printer("__quiesce_end", "end", nonce),
    epilogue(0)
  ].join("\n")

/**
 * The line of a command.
 *
 * @internal
 */
export const lineOf = (command: string, number: number): string =>
  `__quiesce_begin ${number} 0; eval ${quote(command)} </dev/null 8>&- 9>&-\n`

/**
 * The line that prints the end of a command. It begins by ending what an interrupt has left of another.
 *
 * @internal
 */
export const epilogue = (number: number): string => `\n__quiesce_end ${number} $?\n`
