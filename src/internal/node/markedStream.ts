/**
 * An output stream of a shell, in which the shell itself puts marks between what its commands write.
 *
 * A mark is unguessable, so no output can look like one by chance. A command can find out its shell's, and forge one: that
 * ends its own output early, and does no more. What comes between the end of a command and the beginning of the next
 * (prompts, jobs in the background) is dropped.
 */
import type { Output } from "./output.js"

interface Awaited {
  readonly mark: string
  /** Takes what comes before the mark. */
  readonly output: Output | undefined
  readonly found: (value: string) => void
}

const nothing: Buffer = Buffer.alloc(0)

/** An exit code. */
const longestValue = 3

/** @internal */
export class MarkedStream {
  /** All bytes that came. */
  received = 0
  private rest: Buffer = nothing
  private awaited: Awaited | undefined

  /** Reads on to `mark`, and calls `found` with what stands between it and the next ">". */
  await(mark: string, output: Output | undefined, found: (value: string) => void): void {
    this.awaited = { mark, output, found }
  }

  add(chunk: Uint8Array): void {
    this.received += chunk.length
    this.rest = Buffer.concat([this.rest, chunk])
    while (this.readOn());
  }

  /** No more comes. */
  end(): void {
    this.awaited?.output?.add(this.rest)
    this.awaited = undefined
    this.rest = nothing
  }

  /** Whether a mark was found. */
  private readOn(): boolean {
    const { awaited, rest } = this
    if (awaited === undefined) {
      this.rest = nothing
      return false
    }
    const at = rest.indexOf(awaited.mark)
    const from = at + awaited.mark.length
    const value = at < 0 ? "" : rest.toString("latin1", from, from + longestValue + 1)
    if (at >= 0 && !/^(?:\d{1,3}>|\d{0,3}$)/.test(value)) {
      awaited.output?.add(Buffer.from(rest.subarray(0, from))) // forged: what comes behind it has no end
      this.rest = Buffer.from(rest.subarray(from))
      return true
    }
    // The mark may have begun in the last bytes.
    const before = at >= 0 ? at : Math.max(0, rest.length - awaited.mark.length + 1)
    if (before > 0) awaited.output?.add(Buffer.from(rest.subarray(0, before)))
    const end = value.indexOf(">")
    this.rest = Buffer.from(rest.subarray(end < 0 ? before : from + end + 1))
    if (end < 0) return false
    this.awaited = undefined
    awaited.found(value.slice(0, end))
    return true
  }
}
