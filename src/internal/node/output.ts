/**
 * What a command has written to one stream, up to a limit.
 *
 * The stream is always read to its end: a command whose output nobody takes stands still, and one whose output is kept
 * without a limit exhausts our memory.
 */

/** @internal */
export class Output {
  private readonly limit: number
  private readonly chunks: Array<Uint8Array> = []
  private kept = 0
  /** All bytes that came, kept or not. */
  received = 0

  constructor(limit: number) {
    this.limit = limit
  }

  add(chunk: Uint8Array): void {
    this.received += chunk.length
    const room = this.limit - this.kept
    if (room <= 0) return
    // A copy of the last piece, not a view: a view would keep the whole chunk alive.
    const part = chunk.length <= room ? chunk : chunk.slice(0, room)
    this.kept += part.length
    this.chunks.push(part)
  }

  get truncated(): boolean {
    return this.received > this.kept
  }

  /** The bytes as UTF-8. A character that the limit has cut in two is left out. */
  get text(): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    return decoder.decode(Buffer.concat(this.chunks), { stream: this.truncated })
  }
}
