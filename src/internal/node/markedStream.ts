/**
 * An output stream of a shell, in which the shell itself puts marks between what its commands write.
 *
 * A mark is unguessable, so no output can look like one. What comes between the end of a command and the beginning of the
 * next (prompts, jobs in the background) is dropped.
 */
import type { Output } from "./output.js"

interface Awaited {
  readonly mark: string
  /** Takes what comes before the mark. */
  readonly output: Output | undefined
  readonly found: (value: string) => void
}

const nothing: Buffer = Buffer.alloc(0)

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
    // The mark may have begun in the last bytes.
    const before = at >= 0 ? at : Math.max(0, rest.length - awaited.mark.length + 1)
    if (before > 0) awaited.output?.add(Buffer.from(rest.subarray(0, before)))
    const end = at < 0 ? -1 : rest.indexOf(">", at + awaited.mark.length)
    this.rest = Buffer.from(rest.subarray(end < 0 ? before : end + 1))
    if (end < 0) return false
    this.awaited = undefined
    awaited.found(rest.toString("latin1", at + awaited.mark.length, end))
    return true
  }
}
