/**
 * What a command has written to one stream, up to a limit: the first bytes of it, or the last.
 *
 * The stream is always read to its end: a command whose output nobody takes stands still, and one whose output is kept
 * without a limit exhausts our memory.
 */
import type { Kept, KeptPart } from "../capability/process/machine.js"
import type { Spill } from "./spill.js"

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** How many bytes at the end begin a character that is not complete. */
const incompleteLength = (bytes: Uint8Array): number => {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0
    if (isContinuation(byte)) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > length ? length : 0
  }
  return 0
}

/** @internal */
export class Output implements Kept {
  private readonly limit: number
  private readonly keep: "first" | "last"
  private readonly spill: Spill | undefined
  private readonly chunks: Array<Uint8Array> = []
  private kept = 0
  /** All bytes that came, kept or not. */
  received = 0

  constructor(limit: number, keep: "first" | "last" = "first", spill?: Spill) {
    this.limit = limit
    this.keep = keep
    this.spill = spill
  }

  add(chunk: Uint8Array): void {
    this.spillOver(chunk)
    this.received += chunk.length
    if (this.keep === "first") this.addFirst(chunk)
    else this.addLast(chunk)
  }

  get truncated(): boolean {
    return this.received > this.kept
  }

  get file(): string | undefined {
    return this.spill?.path
  }

  /** The bytes as UTF-8. A character that the limit has cut in two is left out. */
  get text(): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    return decoder.decode(Buffer.concat(this.chunks), { stream: this.keep === "first" && this.truncated })
  }

  /** What came behind an offset, from the last bytes. */
  since(offset: number, isFinal: boolean): KeptPart {
    const oldest = Math.max(this.received - this.limit, this.received - this.kept)
    const wanted = Math.min(Math.max(0, Math.trunc(offset) || 0), this.received)
    let start = Math.max(wanted, oldest)
    let bytes: Uint8Array = Buffer.concat(this.chunks).subarray(this.kept - (this.received - start))
    if (start > wanted) {
      // What is left of a character whose beginning is no longer kept.
      while (bytes.length > 0 && isContinuation(bytes[0]) && start - oldest < 3) {
        bytes = bytes.subarray(1)
        start++
      }
    }
    if (!isFinal) bytes = bytes.subarray(0, bytes.length - incompleteLength(bytes))
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
    return { text, skipped: start - wanted, next: start + bytes.length }
  }

  /** No more comes. */
  close(): void {
    this.spill?.close()
  }

  /** Nobody is told of the file. */
  discard(): void {
    this.spill?.remove()
  }

  private spillOver(chunk: Uint8Array): void {
    const { spill } = this
    if (spill === undefined || (!spill.hasBegun && this.received + chunk.length <= this.limit)) return
    // Whatever is kept, so far it is everything.
    if (!spill.hasBegun) for (const earlier of this.chunks) spill.write(earlier)
    spill.write(chunk)
  }

  private addFirst(chunk: Uint8Array): void {
    const room = this.limit - this.kept
    if (room <= 0) return
    // A copy of the last piece, not a view: a view would keep the whole chunk alive.
    const part = chunk.length <= room ? chunk : chunk.slice(0, room)
    this.kept += part.length
    this.chunks.push(part)
  }

  private addLast(chunk: Uint8Array): void {
    this.chunks.push(chunk)
    this.kept += chunk.length
    for (let first = this.chunks[0]; first !== undefined && this.kept - first.length >= this.limit; ) {
      this.chunks.shift()
      this.kept -= first.length
      first = this.chunks[0]
    }
  }
}
