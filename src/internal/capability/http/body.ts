/**
 * The body of one response: read piece by piece, never more than may be.
 */
import * as Effect from "effect/Effect"
import { quoted } from "../../quoted.js"
import type { Conversation, Restore } from "./conversation.js"
import type { Exchange, Head, Problem } from "./transport.js"

/**
 * A response that has begun.
 *
 * @internal
 */
export class Reply {
  readonly conversation: Conversation
  readonly head: Head
  private readonly exchange: Exchange
  private readonly maxBytes: number
  bytes = 0

  constructor(conversation: Conversation, exchange: Exchange, head: Head, maxBytes: number) {
    this.conversation = conversation
    this.exchange = exchange
    this.head = head
    this.maxBytes = maxBytes
  }

  get isOk(): boolean {
    return this.head.status >= 200 && this.head.status < 300
  }

  /** The next piece, `undefined` at the end. */
  next(restore: Restore): Effect.Effect<Uint8Array | undefined, Problem> {
    return Effect.suspend(() => {
      const { conversation, exchange } = this
      const read = conversation.await(exchange.pull(), restore)
      return Effect.flatMap(read, (piece) => {
        if (piece === undefined) conversation.finished()
        else this.bytes += piece.length
        if (this.bytes <= this.maxBytes) return Effect.succeed(piece)
        const detail = `its body has more than the ${this.maxBytes} bytes that may be read`
        return Effect.zipRight(conversation.close, Effect.fail<Problem>({ reason: "TooLarge", detail }))
      })
    })
  }

  /** Hands every piece to `use`, and gives the number of bytes. */
  forEach(restore: Restore, use: (piece: Uint8Array) => Effect.Effect<void, Problem>): Effect.Effect<number, Problem> {
    return Effect.flatMap(this.next(restore), (piece) =>
      piece === undefined ? Effect.succeed(this.bytes) : Effect.zipRight(use(piece), this.forEach(restore, use))
    )
  }

  readText(restore: Restore): Effect.Effect<string, Problem> {
    return Effect.suspend(() => {
      const pieces: Array<Uint8Array> = []
      const read = this.forEach(restore, (piece) => Effect.sync(() => void pieces.push(piece)))
      return Effect.flatMap(read, (length) => decode(join(pieces, length), this.head.headers["content-type"]))
    })
  }
}

const join = (pieces: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

const charsetOfMark = ([a, b, c]: Uint8Array): string | undefined => {
  if (a === 0xef && b === 0xbb && c === 0xbf) return "utf-8"
  if (a === 0xff && b === 0xfe) return "utf-16le"
  return a === 0xfe && b === 0xff ? "utf-16be" : undefined
}

const charsetOfType = (contentType = ""): string | undefined => {
  const [, quoted, bare] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? bare
}

/**
 * Bytes as text, by the rules that browsers follow.
 *
 * @internal
 */
export const decode = (bytes: Uint8Array, contentType: string | undefined): Effect.Effect<string, Problem> => {
  const charset = charsetOfMark(bytes) ?? charsetOfType(contentType) ?? "utf-8"
  return Effect.try({
    try: () => new TextDecoder(charset).decode(bytes),
    catch: (): Problem => ({ reason: "UnknownCharset", detail: `its charset ${quoted(charset)} is not known` })
  })
}
