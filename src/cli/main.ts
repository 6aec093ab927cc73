#!/usr/bin/env node
/**
 * The command `quiesce`.
 */
import * as Abort from "../Abort.js"
import { describeThrown } from "../internal/thrown.js"
import { Output } from "./output.js"
import { program } from "./program.js"

const output = new Output(process.stdout, process.stderr)

// At the very end: what was written may fail long after it was.
process.on("exit", (code) => {
  if (code === 0 && output.isIncomplete) process.exitCode = 1
})

Abort.toPromise(program(output, process.argv.slice(2))).then(
  // Not `exit`: what was written may still be on its way into a pipe.
  (code) => {
    process.exitCode = code
  },
  (error) => {
    const what = error instanceof Error && error.stack !== undefined ? error.stack : describeThrown(error).message
    output.complain(`quiesce: this is a bug in quiesce, please report it: ${what}`)
    process.exitCode = 1
  }
)
