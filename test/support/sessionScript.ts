// Writes down what an agent might do, from a seed: turns, steps, streams, calls, failures, cancellations, input.
import { AgentEvent, CancelCause, Content, ToolResult } from "quiesce"
import { Model } from "quiesce/capability"
import { makeRandom } from "../../src/internal/random.js"

export { makeRandom }

type Event = AgentEvent.AgentEvent

/** A balanced log without its first event. */
export const sessionScript = (seed: number, turns = 4): ReadonlyArray<Event> => {
  const before = 1
  const random = makeRandom(seed)
  const below = random.nextBelow
  const one = <A>(...choices: readonly [A, ...ReadonlyArray<A>]): A => choices[below(choices.length)] ?? choices[0]
  const chance = (percent: number): boolean => below(100) < percent
  const events: Array<Event> = []
  const add = (event: Event): number => {
    events.push(event)
    return before + events.length
  }
  let inputs = 0
  let callIds = 0
  const words = (): string =>
    one("read it", "näher ansehen 🔍", 'say "hi"\n', "\ud800 alone", "", "x".repeat(below(300)))
  const content = (): ReadonlyArray<Content.Content> => [
    ...(chance(15) ? [{ type: "image", data: "aGk=", mediaType: "image/png" } as const] : []),
    Content.text(`${words()}.`)
  ]
  const queue = (): string => {
    const id = `m${++inputs}`
    const source = chance(20) ? { source: "hook" } : {}
    const message = { id, content: content(), ...source }
    add(AgentEvent.InputQueued.make({ message, target: one("step", "turn"), wakes: chance(80) }))
    return id
  }

  const runCalls = (turn: number, step: number, ids: ReadonlyArray<string>): void => {
    const results = ids.map((callId): ToolResult.ToolResult => {
      const common = { callId, tool: "read_file", contexts: chance(20) ? content() : [] }
      if (chance(60)) {
        const value = { text: words(), size: below(9) }
        return { ...ToolResult.success(value), ...common, content: content(), dispatched: true, body: "completed" }
      }
      const failure = ToolResult.failure({ code: one("DENIED", "TOOL_FAILURE"), message: words() })
      return { ...failure, ...common, cause: CancelCause.encode(CancelCause.user("no")) }
    })
    const starting = [...ids]
    const ending = [...results]
    const callOfBody = (outer: ToolResult.ToolResult): void => {
      const at = { turn, step, parentId: outer.callId, rootId: outer.callId }
      const callId = `${outer.callId}:1`
      add(AgentEvent.NestedCallStarted.make({ ...at, callId, tool: outer.tool, parameters: null }))
      add(AgentEvent.NestedCallEnded.make({ ...at, result: { ...outer, callId } }))
    }
    // Calls overlap: they start and end in order, and a result comes behind its start.
    while (ending.length > 0) {
      const callId = starting[0]
      const canEnd = ending.length > starting.length
      if (callId !== undefined && (!canEnd || chance(50))) {
        starting.shift()
        add(AgentEvent.CallStarted.make({ turn, step, callId, tool: "read_file", parameters: { path: words() } }))
      } else {
        const result = ending.shift()
        if (result === undefined) continue
        if (chance(20)) callOfBody(result)
        add(AgentEvent.CallEnded.make({ turn, step, result }))
      }
      if (chance(5)) queue()
    }
    for (const { callId, contexts } of results) {
      if (contexts.length > 0) add(AgentEvent.ContextAdded.make({ turn, step, callId, content: contexts }))
    }
  }

  /** Whether the model rests then. */
  const ask = (turn: number, step: number): boolean => {
    for (let attempt = 1; ; attempt++) {
      add(AgentEvent.ModelRequested.make({ turn, step, attempt, model: "scripted" }))
      const chunks: Array<Model.Chunk> = []
      const seqs: Array<number> = []
      const stream = (chunk: Model.Chunk): void => {
        chunks.push(chunk)
        seqs.push(add(AgentEvent.ModelChunk.make({ turn, step, attempt, chunk })))
      }
      for (let n = below(4); n > 0; n--) stream({ _tag: one("Text", "Reasoning"), text: words() })
      if (chance(15)) {
        const isRetried = attempt < 3 && chance(70)
        const [code, message] = ["OVERLOADED", "try again"]
        add(AgentEvent.RequestFailed.make({ turn, step, attempt, code, message, retried: isRetried }))
        if (isRetried) continue
        return true
      }
      const ids = chance(60) ? Array.from({ length: 1 + below(3) }, () => `call_${++callIds}`) : []
      for (const id of ids) {
        stream(Model.ToolCallStart.make({ id, name: "read_file" }))
        stream(Model.ToolCallArguments.make({ id, text: `{"path":"a.txt"}` }))
      }
      if (chance(40)) stream(Model.Usage.make({ inputTokens: below(1000), outputTokens: below(1000) }))
      const isCut = chance(15)
      if (!isCut) stream(Model.Finish.make({ reason: ids.length > 0 ? "tool-calls" : "stop" }))
      const draft = Model.assemble(chunks)
      const kept = Model.prefix(draft).filter((block) => block.type !== "image")
      const blocks = isCut ? kept : draft.blocks.map(({ block }) => block)
      if (blocks.length > 0) {
        const usage = draft.usage === undefined ? {} : { usage: draft.usage }
        const finish = draft.finish === undefined ? {} : { finish: draft.finish.reason }
        add(
          AgentEvent.AssistantMessage.make({
            ...{ turn, step, blocks, interrupted: isCut, ...usage, ...finish, chunkSeqs: seqs }
          })
        )
      }
      if (!isCut) runCalls(turn, step, ids)
      return isCut || ids.length === 0
    }
  }

  for (let turn = 1; turn <= turns; turn++) {
    const ids = Array.from({ length: 1 + below(3) }, queue)
    const [first = "", ...rest] = ids
    if (chance(15) && rest[0] !== undefined) {
      add(AgentEvent.InputDiscarded.make({ ids: [rest[0]], reason: "taken back" }))
      rest.shift()
    }
    if (chance(15) && rest.length > 0) add(AgentEvent.InputParked.make({ ids: rest, reason: "the turn was blocked" }))
    add(AgentEvent.TurnStarted.make({ turn }))
    add(AgentEvent.InputClaimed.make({ turn, ids: [first] }))
    if (chance(10)) {
      if (chance(50)) add(AgentEvent.InputReturned.make({ ids: [first] }))
      else add(AgentEvent.InputDiscarded.make({ ids: [first], reason: "cancelled" }))
      const cause = CancelCause.encode(CancelCause.hostSignal(new Error("tab closed")))
      add(AgentEvent.TurnEnded.make({ turn, outcome: { _tag: "Cancelled", cause } }))
      continue
    }
    let rests = false
    for (let step = 1; !rests && step <= 4; step++) {
      add(AgentEvent.StepStarted.make({ turn, step }))
      if (step === 1) add(AgentEvent.UserMessage.make({ turn, step, id: first, content: content() }))
      rests = ask(turn, step)
      add(AgentEvent.StepEnded.make({ turn, step }))
    }
    const outcome = one<AgentEvent.Outcome>(
      { _tag: "Completed" },
      { _tag: "MaxTokens" },
      { _tag: "Error", code: "OVERLOADED", message: words() },
      { _tag: "Blocked", reason: words() }
    )
    add(AgentEvent.TurnEnded.make({ turn, outcome }))
  }
  return events
}
