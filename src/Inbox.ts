/**
 * What people have said to an agent and it has not read yet: two lines, first in, first out.
 *
 * An inbox is a value. The agent's state machine changes it in the step in which the change is logged.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as AgentEvent from "./AgentEvent.js"

/**
 * Schema for a message to an agent. Its id is unique within the session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Message = AgentEvent.InputMessage

/**
 * A message to an agent.
 *
 * @since 0.1.0
 * @category models
 */
export type Message = AgentEvent.InputMessage

/**
 * Schema for the line that a message waits in: for the next step of the turn that runs, or for a turn of its own.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Target = Schema.Literal("step", "turn")

/**
 * The line that a message waits in: for the next step of the turn that runs, or for a turn of its own.
 *
 * @since 0.1.0
 * @category models
 */
export type Target = typeof Target.Type

/**
 * Schema for a message that waits, and whether it opens a turn where none runs.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Item = Schema.Struct({ message: Message, target: Target, wakes: Schema.Boolean })

/**
 * A message that waits, and whether it opens a turn where none runs.
 *
 * @since 0.1.0
 * @category models
 */
export type Item = typeof Item.Type

/**
 * The two lines of an agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inbox {
  readonly step: ReadonlyArray<Item>
  readonly turn: ReadonlyArray<Item>
}

/**
 * An inbox with nothing in it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const empty: Inbox = { step: [], turn: [] }

/**
 * Adds an item to the end of its line.
 *
 * @since 0.1.0
 * @category combinators
 */
export const add = (inbox: Inbox, item: Item): Inbox => ({ ...inbox, [item.target]: [...inbox[item.target], item] })

/**
 * Puts items back to the front of their lines, in their order.
 *
 * @since 0.1.0
 * @category combinators
 */
export const putBack = (inbox: Inbox, items: ReadonlyArray<Item>): Inbox => ({
  step: [...items.filter(({ target }) => target === "step"), ...inbox.step],
  turn: [...items.filter(({ target }) => target === "turn"), ...inbox.turn]
})

/**
 * Takes a message out, if it waits.
 *
 * @since 0.1.0
 * @category combinators
 */
export const remove = (inbox: Inbox, id: string): readonly [removed: Item | undefined, rest: Inbox] => {
  const others = (line: ReadonlyArray<Item>): ReadonlyArray<Item> => line.filter(({ message }) => message.id !== id)
  const removed = items(inbox).find(({ message }) => message.id === id)
  return removed === undefined ? [undefined, inbox] : [removed, { step: others(inbox.step), turn: others(inbox.turn) }]
}

/**
 * Takes what the next step of a turn is to read: all that waits for a step, and for the first step one turn's message.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Content, Inbox } from "quiesce"
 *
 * const say = (id: string, target: Inbox.Target): Inbox.Item => ({
 *   message: { id, content: [Content.text(id)] },
 *   target,
 *   wakes: true
 * })
 * const inbox = [say("a", "turn"), say("b", "turn"), say("c", "step")].reduce(Inbox.add, Inbox.empty)
 * const [claimed, rest] = Inbox.claim(inbox, { isFirstStep: true })
 * assert.deepStrictEqual(claimed.map(({ message }) => message.id), ["c", "a"])
 * assert.strictEqual(Inbox.size(rest), 1)
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const claim = (
  inbox: Inbox,
  { isFirstStep }: { readonly isFirstStep: boolean }
): readonly [claimed: ReadonlyArray<Item>, rest: Inbox] => {
  const turns = isFirstStep ? 1 : 0
  return [[...inbox.step, ...inbox.turn.slice(0, turns)], { step: [], turn: inbox.turn.slice(turns) }]
}

/**
 * All that waits, in the order in which it would be read.
 *
 * @since 0.1.0
 * @category converting
 */
export const items = (inbox: Inbox): ReadonlyArray<Item> => [...inbox.step, ...inbox.turn]

/**
 * How many messages wait.
 *
 * @since 0.1.0
 * @category converting
 */
export const size = (inbox: Inbox): number => inbox.step.length + inbox.turn.length
