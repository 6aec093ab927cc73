// A session's storage that a test looks into, and whose disk fails when the test wants it to.
import type { AgentEvent, Session } from "quiesce"

export const bytesOf = (log: ReadonlyArray<AgentEvent.Envelope>): Uint8Array =>
  new TextEncoder().encode(log.map((envelope) => `${JSON.stringify(envelope)}\n`).join(""))

export const enveloped = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<AgentEvent.Envelope> =>
  events.map((event, i) => ({ seq: i + 1, at: 1000 + i, event }))

export const concat = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export class TestStorage implements Session.Storage {
  readonly name = "test.jsonl"
  readonly contents: Uint8Array
  bytes: Uint8Array
  /** How many bytes had been written at each sync. */
  readonly syncs: Array<number> = []
  private readonly failures: Array<{ readonly method: "append" | "cut" | "sync"; readonly error: Error }> = []

  constructor(contents: Uint8Array = new Uint8Array()) {
    this.contents = contents
    this.bytes = contents
  }

  get lines(): ReadonlyArray<string> {
    return new TextDecoder().decode(this.bytes).split("\n").slice(0, -1)
  }

  failNext(method: "append" | "cut" | "sync", error = new Error("EIO")): void {
    this.failures.push({ method, error })
  }

  append(line: Uint8Array): void {
    this.mayFail("append")
    this.bytes = concat(this.bytes, line)
  }
  cut(length: number): void {
    this.mayFail("cut")
    this.bytes = this.bytes.slice(0, length)
  }
  sync(): void {
    this.mayFail("sync")
    this.syncs.push(this.bytes.length)
  }

  private mayFail(method: "append" | "cut" | "sync"): void {
    const at = this.failures.findIndex((failure) => failure.method === method)
    const [failure] = at < 0 ? [] : this.failures.splice(at, 1)
    if (failure !== undefined) throw failure.error
  }
}
