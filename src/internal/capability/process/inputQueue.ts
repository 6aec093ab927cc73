/**
 * The standard input of a process in the background: those who write to it take turns, and write in pieces, so that an
 * interruption finds little under way.
 */
import * as Effect from "effect/Effect"
import * as Cancellation from "../../../Cancellation.js"
import * as Process from "../../../capability/Process.js"
import type { Input, Tree } from "./machine.js"
import { Slot } from "./slot.js"

const pieceLength = 65_536

/** Where the piece that begins at `start` ends: not within a character of two halves. */
const endOf = (text: string, start: number): number => {
  const end = start + pieceLength
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end
}

/** @internal */
export class InputQueue {
  private readonly command: string
  private readonly input: Input | undefined
  private readonly tree: Tree
  private readonly slot = new Slot()
  private isClosed = false

  constructor(command: string, input: Input | undefined, tree: Tree) {
    this.command = command
    this.input = input
    this.tree = tree
  }

  readonly close = Effect.suspend(() =>
    this.slot.use(
      Effect.sync(() => {
        if (!this.isClosed) this.input?.close()
        this.isClosed = true
      })
    )
  ).pipe(Cancellation.operation("close the input"))

  write(text: string): Effect.Effect<void, Process.ProcessError, Cancellation.Cancellation> {
    const from = (start: number): Effect.Effect<void, Process.ProcessError> =>
      Effect.suspend(() => {
        const { input } = this
        const problem = this.problem
        if (input === undefined || problem !== undefined) return this.fail(problem)
        const end = endOf(text, start)
        const written = input.write(text.slice(start, end))
        return Effect.flatMap(written.waitTidily(), (isTaken) => {
          if (!isTaken) return this.fail("nobody reads there any more")
          return end < text.length ? from(end) : Effect.void
        })
      })
    return Effect.suspend(() => this.slot.use(from(0))).pipe(Cancellation.operation(`write to ${this.command}`))
  }

  private get problem(): string | undefined {
    if (this.input === undefined) return "it was not left open"
    if (this.isClosed) return "it was closed"
    return this.tree.ended.isSettled ? "it has ended" : undefined
  }

  private fail(detail: string | undefined): Effect.Effect<never, Process.ProcessError> {
    return Effect.fail(new Process.ProcessError({ reason: "InputClosed", command: this.command, detail }))
  }
}
