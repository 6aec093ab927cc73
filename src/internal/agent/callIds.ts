/**
 * Tells the calls of a session apart.
 *
 * A result finds its call by the id that the model gave it. Some models give none, or the same again: then a provider
 * would refuse the next request, and the log could not say which call it speaks of (L8). Those get an id of ours.
 */
import type * as Model from "../../capability/Model.js"

const idsIn = (messages: ReadonlyArray<Model.Message>): ReadonlyArray<string> =>
  messages.flatMap((message) =>
    message.role === "assistant"
      ? message.content.flatMap((block) => (block.type === "tool-call" ? [block.id] : []))
      : []
  )

/** @internal */
export class CallIds {
  private readonly used: Set<string>
  private count = 0

  /** For a session that shows its model `messages` so far. */
  constructor(messages: ReadonlyArray<Model.Message>) {
    this.used = new Set(idsIn(messages))
  }

  /** An answer in which each call has an id that no other call of the session has. */
  told(blocks: ReadonlyArray<Model.Block>): ReadonlyArray<Model.Block> {
    return blocks.map((block) => (block.type === "tool-call" ? { ...block, id: this.take(block.id) } : block))
  }

  private take(id: string): string {
    let own = id
    while (own === "" || this.used.has(own)) own = `${id === "" ? "call" : id}_${++this.count}`
    this.used.add(own)
    return own
  }
}
