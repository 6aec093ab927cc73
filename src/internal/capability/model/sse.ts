/**
 * Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.6) as their bytes come.
 *
 * However the bytes are cut, the events are the same: a character, a line ending and an event may lie across pieces.
 */

/** @internal */
export interface SseEvent {
  /** `message` where the server names none. */
  readonly event: string
  readonly data: string
}

/** @internal */
export class SseParser {
  // Bytes that are not UTF-8 become U+FFFD, and a byte order mark at the start is dropped, as the specification has it.
  private readonly decoder = new TextDecoder("utf-8")
  private line = ""
  private isBehindCr = false
  private event = ""
  private data: Array<string> = []

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): ReadonlyArray<SseEvent> {
    return this.read(this.decoder.decode(bytes, { stream: true }))
  }

  /**
   * What was begun and not completed when the bytes ended. The specification drops it; whoever knows the protocol can
   * tell whether it is whole.
   */
  end(): SseEvent | undefined {
    this.read(this.decoder.decode())
    if (this.line !== "") this.endLine()
    return this.dispatch()
  }

  private read(text: string): ReadonlyArray<SseEvent> {
    const events: Array<SseEvent> = []
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const char = text[at]
      const isLfOfCrLf = char === "\n" && this.isBehindCr
      this.isBehindCr = char === "\r"
      if (isLfOfCrLf) {
        from = at + 1
        continue
      }
      if (char !== "\n" && char !== "\r") continue
      this.line += text.slice(from, at)
      from = at + 1
      const event = this.line === "" ? this.dispatch() : this.endLine()
      if (event !== undefined) events.push(event)
    }
    this.line += text.slice(from)
    return events
  }

  private endLine(): undefined {
    const colon = this.line.indexOf(":")
    const field = colon === -1 ? this.line : this.line.slice(0, colon)
    const value = colon === -1 ? "" : this.line.slice(colon + (this.line[colon + 1] === " " ? 2 : 1))
    this.line = ""
    // A comment has an empty name. `id` and `retry` are for clients that reconnect.
    if (field === "data") this.data.push(value)
    else if (field === "event") this.event = value
  }

  private dispatch(): SseEvent | undefined {
    const { data, event } = this
    this.data = []
    this.event = ""
    return data.length === 0 ? undefined : { event: event === "" ? "message" : event, data: data.join("\n") }
  }
}
