/**
 * The process of Node, as far as the end of a program is concerned.
 */
import type { Host } from "./wayOut.js"

/** @internal */
export interface NodeHost extends Pick<Host, "complete" | "defer" | "exit"> {
  /** Takes signals, and calls `atExit`, which must be synchronous, when the process is left. Returns how to stop that. */
  readonly listen: (onSignal: (name: "SIGINT" | "SIGTERM" | "SIGHUP") => void, atExit: () => void) => () => void
}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const

// What was written may still be on its way into a pipe.
const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed || !stream.writable) resolve()
    else stream.write("", () => resolve())
  })

/** @internal */
export const nodeHost: NodeHost = {
  defer: queueMicrotask,
  complete: (exitCode) => {
    process.exitCode = exitCode
  },
  exit: (exitCode, when) => {
    if (when === "at once") process.exit(exitCode)
    process.exitCode = exitCode
    // Whoever runs the program may leave by itself with 0, as `NodeRuntime.runMain` does after a signal.
    process.once("exit", (code) => {
      if (code === 0) process.exitCode = exitCode
    })
    void Promise.all([flushed(process.stdout), flushed(process.stderr)]).then(() => process.exit())
  },
  listen: (onSignal, atExit) => {
    for (const name of names) process.on(name, onSignal)
    process.on("exit", atExit)
    return () => {
      for (const name of names) process.off(name, onSignal)
      process.off("exit", atExit)
    }
  }
}
