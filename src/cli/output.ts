/**
 * The only file that writes to the terminal.
 *
 * Below everything that was written there may be a region that is drawn again in place: lines, or, while somebody can
 * type, the prompt. Nothing that is written is a command to the terminal, whoever said it.
 */
import * as Cause from "effect/Cause"
import * as Logger from "effect/Logger"
import { cut, oneLine, printable } from "./text.js"

/** Where to write. */
export interface Stream {
  readonly write: (text: string) => unknown
  readonly on: (event: "error", listener: (error?: NodeJS.ErrnoException) => void) => unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

const up = (lines: number): string => `\x1b[${lines}A`
const clearBelow = "\x1b[J"

/** What stays below everything that is written. */
export interface Region {
  readonly erase: () => void
  readonly draw: () => void
}

// Whoever read has left (`quiesce run | head`), or the terminal is gone.
const isGone = (code: string | undefined): boolean => code === "EPIPE" || code === "EIO" || code === "ECONNRESET"

/** Two streams and a region. */
export class Output {
  private readonly out: Stream
  private readonly err: Stream
  private lines: ReadonlyArray<string> = []
  private prompt: Region | undefined
  private failure: Error | undefined

  constructor(out: Stream, err: Stream) {
    this.out = out
    this.err = err
    err.on("error", () => {}) // there is nobody to be told
    out.on("error", (error) => {
      // The work goes on. Where somebody may still read what was written, it is said once that it is not all of it.
      if (error === undefined || isGone(error.code) || this.failure !== undefined) return
      this.failure = error
      this.complain(`quiesce: the output could not be written as a whole: ${error.message}`)
    })
  }

  /** Whether something is missing in the standard output that somebody may read. */
  get isIncomplete(): boolean {
    return this.failure !== undefined
  }

  /** Whether lines can be drawn again in place. */
  get isTerminal(): boolean {
    const { TERM } = process.env
    return this.out.isTTY === true && TERM !== "dumb"
  }

  /** Writes to the standard output. */
  write(text: string): void {
    this.above(() => this.out.write(`${printable(text)}\n`))
  }

  /** Writes to the standard error. */
  complain(text: string): void {
    this.above(() => this.err.write(`${printable(text)}\n`))
  }

  /** Puts something else below in the place of lines, which are not drawn until it is taken away. */
  setPrompt(prompt: Region | undefined): void {
    this.erase()
    if (prompt !== undefined) this.lines = []
    this.prompt = prompt
    this.redraw()
  }

  /** Replaces the region, as far as it fits on the screen. Without lines, removes it. */
  draw(lines: ReadonlyArray<string>): void {
    if (this.prompt !== undefined) return
    const columns = this.out.columns || 80 // a terminal that does not know its size says 0
    const rows = this.out.rows || 24
    const room = Math.max(1, rows - 2)
    const fitting =
      lines.length <= room ? lines : [...lines.slice(0, room - 1), `  ... and ${lines.length - room + 1} more`]
    this.erase()
    this.lines = fitting.map((line) => cut(oneLine(line), columns - 1))
    this.redraw()
  }

  /** A logger that keeps off the standard output. */
  get logger(): Logger.Logger<unknown, void> {
    return Logger.make(({ cause, logLevel, message }) => {
      const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
      const because = Cause.isEmpty(cause) ? "" : `\n${Cause.pretty(cause)}`
      this.complain(`quiesce: ${logLevel.label.toLowerCase()}: ${text}${because}`)
    })
  }

  private above(write: () => void): void {
    this.erase()
    write()
    this.redraw()
  }

  private erase(): void {
    if (this.prompt !== undefined) this.prompt.erase()
    else if (this.lines.length > 0) this.out.write(`${up(this.lines.length)}\r${clearBelow}`)
  }

  private redraw(): void {
    if (this.prompt !== undefined) this.prompt.draw()
    else if (this.lines.length > 0) this.out.write(`${this.lines.join("\n")}\n`)
  }
}
