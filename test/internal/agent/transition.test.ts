import { assert, describe, it } from "@effect/vitest"
import { CancelCause, Content, Inbox } from "quiesce"
import { type Command, type Event, initial, type State, transition } from "../../../src/internal/agent/transition.js"

const user = CancelCause.user()

const item = (id: string, target: Inbox.Target, wakes = true): Inbox.Item => ({
  message: { id, content: [Content.text(id)] },
  target,
  wakes
})

const ids = (items: ReadonlyArray<Inbox.Item>): ReadonlyArray<string> => items.map(({ message }) => message.id)

/** What has become of each message that was accepted, and what was told of it. */
interface World {
  readonly state: State
  readonly accepted: ReadonlyArray<string>
  readonly gone: ReadonlyArray<string>
  readonly parked: ReadonlyArray<string>
  readonly active: number
  readonly trail: ReadonlyArray<readonly [event: string, commands: ReadonlyArray<Command>]>
}

const claimedIn = (state: State): ReadonlyArray<Inbox.Item> =>
  state.phase._tag === "Running" ? state.phase.claimed : []

const fail = (world: World, what: string): never =>
  assert.fail(`${what}\n${world.trail.map(([name, commands]) => `${name} -> ${JSON.stringify(commands)}`).join("\n")}`)

/** Applies an event, and checks what must hold after every one. */
const step = (world: World, name: string, event: Event): World => {
  const before = world.state
  const [state, commands] = transition(before, event)
  const has = (tag: Command["_tag"]) => commands.filter((command) => command._tag === tag)
  let { accepted, active, gone, parked } = world
  if (event._tag === "Read") gone = [...gone, ...event.ids]
  if (event._tag === "TurnEnded" || event._tag === "MaintenanceEnded") active--
  if (event._tag === "MaintenanceStarted" && has("Refuse").length === 0) active++
  for (const command of commands) {
    if (command._tag === "Queue") {
      accepted = [...accepted, command.item.message.id]
    } else if (command._tag === "Discard" || command._tag === "Withdraw") gone = [...gone, ...ids(command.items)]
    else if (command._tag === "Park") parked = [...parked, ...ids(command.items)]
    else if (command._tag === "StartTurn") {
      active++
      parked = []
    }
  }
  const next: World = {
    state,
    accepted,
    active,
    gone,
    parked,
    trail: [...world.trail, [name, commands]]
  }
  const here = [...ids(Inbox.items(state.inbox)), ...ids(claimedIn(state))]
  const known = new Set([...here, ...gone])
  if (known.size !== accepted.length || here.length + gone.length !== accepted.length)
    fail(next, "T1: a message is lost, or there twice")
  if (active > 1) fail(next, "T2: two activities at once")
  const isActive = state.phase._tag === "Running" || state.phase._tag === "Maintenance"
  if (active !== (isActive ? 1 : 0)) fail(next, "T2: the phase is not what is under way")
  if (state.turns - before.turns !== has("StartTurn").length) fail(next, "T2: turn numbers")
  if (before.isDisposed && has("StartTurn").length > 0) fail(next, "T4: started after it was disposed of")
  const wasActive = before.phase._tag === "Running" || before.phase._tag === "Maintenance"
  if (has("Rest").length !== (!isActive && (wasActive || (event._tag === "Disposed" && !before.isDisposed)) ? 1 : 0)) {
    fail(next, "T5: rest")
  }
  if (state.phase._tag === "Idle") {
    const stranded = Inbox.items(state.inbox).filter(({ message, wakes }) => wakes && !parked.includes(message.id))
    if (stranded.length > 0) fail(next, `T1: stranded without a record: ${ids(stranded)}`)
  }
  const causeBefore = before.phase._tag === "Running" ? before.phase.cause : undefined
  if (causeBefore !== undefined && has("Cancel").length > 0) fail(next, "T3: cancelled twice")
  return next
}

const legal = (state: State, count: number): ReadonlyArray<readonly [name: string, event: Event]> => {
  const id = `m${count}`
  const outside: Array<readonly [string, Event]> = [
    ["followup", { _tag: "Sent", item: item(id, "turn") }],
    ["steer", { _tag: "Sent", item: item(id, "step") }],
    ["inject", { _tag: "Sent", item: item(id, "step", false) }],
    ["cancel", { _tag: "Cancelled", cause: user, keepInbox: false }],
    ["cancel, keep", { _tag: "Cancelled", cause: CancelCause.parent(), keepInbox: true }],
    ["maintain", { _tag: "MaintenanceStarted" }],
    ["dispose", { _tag: "Disposed", cause: CancelCause.disposed() }]
  ]
  const [waiting] = Inbox.items(state.inbox)
  if (waiting !== undefined) outside.push(["withdraw", { _tag: "Withdrawn", id: waiting.message.id }])
  if (state.phase._tag === "Maintenance") return [...outside, ["maintained", { _tag: "MaintenanceEnded" }]]
  if (state.phase._tag !== "Running") return outside
  if (state.phase.cause !== undefined) return [...outside, ["cancelled", { _tag: "TurnEnded", end: "cancelled" }]]
  return [
    ...outside,
    ["claim", { _tag: "Claimed", isFirstStep: true }],
    ["claim more", { _tag: "Claimed", isFirstStep: false }],
    ...claimedIn(state)
      .slice(0, 1)
      .map(({ message }) => ["read", { _tag: "Read", ids: new Set([message.id]) }] as const),
    ["enter", { _tag: "Entered" }],
    ["completed", { _tag: "TurnEnded", end: "completed" }],
    ["failed", { _tag: "TurnEnded", end: "failed" }],
    ["blocked", { _tag: "TurnEnded", end: "blocked" }]
  ]
}

const start: World = { state: initial, accepted: [], gone: [], parked: [], active: 0, trail: [] }

const play = (...events: ReadonlyArray<readonly [string, Event]>): World =>
  events.reduce((world, [name, event]) => step(world, name, event), start)

const send = (id: string, target: Inbox.Target = "turn", wakes = true): readonly [string, Event] => [
  `send ${id}`,
  { _tag: "Sent", item: item(id, target, wakes) }
]
const cancel = (keepInbox = false): readonly [string, Event] => [
  "cancel",
  { _tag: "Cancelled", cause: user, keepInbox }
]
const claim = (isFirstStep = true): readonly [string, Event] => ["claim", { _tag: "Claimed", isFirstStep }]
const enter: readonly [string, Event] = ["enter", { _tag: "Entered" }]
const end = (how: "completed" | "cancelled" | "blocked" | "failed" | "empty"): readonly [string, Event] => [
  `end ${how}`,
  { _tag: "TurnEnded", end: how }
]
const dispose: readonly [string, Event] = ["dispose", { _tag: "Disposed", cause: CancelCause.disposed() }]

describe("transition", () => {
  it("T1 to T5 hold after every event of every sequence of up to six", () => {
    let sequences = 0
    const explore = (world: World, left: number): void => {
      sequences++
      if (left === 0) return
      for (const [name, event] of legal(world.state, world.trail.length)) explore(step(world, name, event), left - 1)
    }
    explore(start, 6)
    assert.isAbove(sequences, 500_000)
  }, 120_000)

  it("a message that waits is withdrawn, one that is claimed or gone is not, and nothing is after disposal", () => {
    const withdraw = (id: string): Event => ({ _tag: "Withdrawn", id })
    const { state } = play(send("a"), claim(), send("b"))
    const [after, commands] = transition(state, withdraw("b"))
    assert.deepStrictEqual([ids(Inbox.items(after.inbox)), commands.map(({ _tag }) => _tag)], [[], ["Withdraw"]])
    const refused: Command = { _tag: "Refuse", because: "gone" }
    for (const id of ["a", "c"]) assert.deepStrictEqual(transition(state, withdraw(id)), [state, [refused]])
    const disposed = play(send("a"), claim(), send("b"), dispose).state
    assert.deepStrictEqual(transition(disposed, withdraw("b"))[1], [{ _tag: "Refuse", because: "closed" }])
  })

  it("169. a latched wake whose message is withdrawn opens no turn", () => {
    const world = play(
      send("a"),
      claim(),
      enter,
      cancel(),
      send("b", "step"),
      ["withdraw", { _tag: "Withdrawn", id: "b" }],
      end("cancelled")
    )
    assert.deepStrictEqual([world.state.phase._tag, world.state.turns, world.gone], ["Idle", 1, ["a", "b"]])
  })

  it("what a step was entered without is discarded, with a record", () => {
    const read: readonly [string, Event] = ["read", { _tag: "Read", ids: new Set(["a"]) }]
    const [, commands] = transition(play(send("b", "step"), send("a"), claim(), read).state, { _tag: "Entered" })
    assert.deepInclude(commands[0], { _tag: "Discard", because: "kept out" })
  })

  it("W12: a wake that comes in the step in which the turn ends is run, whichever comes first", () => {
    const first = play(send("a"), claim(), enter, send("b"), end("completed"))
    assert.deepStrictEqual([first.state.phase._tag, first.state.turns], ["Running", 2])
    const second = play(send("a"), claim(), enter, end("completed"), send("b"))
    assert.deepStrictEqual([second.state.phase._tag, second.state.turns], ["Running", 2])
  })

  it("166. a wake that comes between the cancel and the end of the turn is replayed", () => {
    const { state } = play(send("a"), claim(), enter, cancel(true), send("b"), end("cancelled"))
    assert.deepStrictEqual([state.phase._tag, state.turns, ids(Inbox.items(state.inbox))], ["Running", 2, ["b"]])
  })

  it("170. what steers a turn that was cancelled opens the next one", () => {
    const { state } = play(send("a"), claim(), enter, cancel(), send("b", "step"))
    assert.deepStrictEqual([ids(state.inbox.step), ids(state.inbox.turn)], [[], ["b"]])
  })

  it("165. what was queued before the cancel stays parked until somebody wakes the agent", () => {
    const parked = play(send("a"), claim(), enter, send("b"), cancel(true), end("cancelled"))
    assert.deepStrictEqual([parked.state.phase._tag, parked.parked], ["Idle", ["b"]])
    const woken = step(parked, "send c", send("c")[1])
    assert.deepStrictEqual([woken.state.phase._tag, ids(woken.state.inbox.turn)], ["Running", ["b", "c"]])
  })

  it("184, W16: what was claimed and never read comes back, in its order, before what came later", () => {
    const { state } = play(send("a"), send("b"), claim(), cancel(true))
    assert.deepStrictEqual(ids(state.inbox.turn), ["a", "b"])
  })

  it("W11: after a cancel and a dispose a wake does not run, and is refused", () => {
    const world = play(send("a"), claim(), enter, cancel(), dispose, send("b"), end("cancelled"))
    assert.deepStrictEqual([world.state.phase._tag, world.accepted], ["Closed", ["a"]])
  })

  it("154. the first cause stays when the agent is disposed of", () => {
    const { state } = play(send("a"), cancel(), dispose)
    assert.strictEqual(state.phase._tag === "Running" ? state.phase.cause : undefined, user)
  })

  it("W17: a cancel of an idle agent leaves alone what is parked", () => {
    const world = play(send("a", "step", false), cancel())
    assert.deepStrictEqual([world.state.phase._tag, ids(world.state.inbox.step)], ["Idle", ["a"]])
  })

  it("W21: what waits behind a turn that failed is parked, and that is said", () => {
    const world = play(send("a"), claim(), enter, send("b"), end("failed"))
    assert.deepStrictEqual([world.state.phase._tag, world.parked], ["Idle", ["b"]])
  })

  it("177. what a blocked step had claimed is gone, what waits behind it is parked", () => {
    const world = play(send("a"), send("b"), claim(), end("blocked"))
    assert.deepStrictEqual([world.gone, world.parked], [["a"], ["b"]])
  })

  it("200. maintenance: a wake is latched and replayed, a broad cancel drops it, a later wake latches again", () => {
    const maintain: readonly [string, Event] = ["maintain", { _tag: "MaintenanceStarted" }]
    const maintained: readonly [string, Event] = ["maintained", { _tag: "MaintenanceEnded" }]
    assert.strictEqual(play(maintain, send("a"), maintained).state.phase._tag, "Running")
    assert.strictEqual(play(maintain, send("a"), cancel(), maintained).state.phase._tag, "Idle")
    assert.strictEqual(play(maintain, send("a"), cancel(), send("b"), maintained).state.phase._tag, "Running")
    const busy = transition(play(send("a")).state, { _tag: "MaintenanceStarted" })[1]
    assert.deepStrictEqual(busy, [{ _tag: "Refuse", because: "busy" }])
  })
})
