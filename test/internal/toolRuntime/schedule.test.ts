import { assert, describe, it } from "@effect/vitest"
import {
  type Command,
  decide,
  type Event,
  initial,
  type Mode,
  type State,
  transition
} from "../../../src/internal/toolRuntime/schedule.js"

interface Run {
  readonly state: State
  readonly modes: ReadonlyArray<Mode>
  readonly log: ReadonlyArray<string>
}

const fail = (run: Run, what: string): never => assert.fail(`${what}: ${run.log.join(" ")}`)

/** Does what is to be done, until something has to happen first. Checks what must hold all along. */
const settle = (run: Run): Run => {
  const [state, command] = decide(run.state, (index) => run.modes[index] as Mode)
  if (command === undefined || command._tag === "Finish") return check({ ...run, state })
  return settle(check({ ...run, state, log: [...run.log, `${command._tag} ${command.index}`] }, command))
}

const check = (run: Run, command?: Command): Run => {
  const { calls, isStopped, limit } = run.state
  const count = (...tags: ReadonlyArray<string>) => calls.filter(({ _tag }) => tags.includes(_tag)).length
  if (count("Gating", "Committing", "Skipping") > 1) fail(run, "S1: two in the lane")
  if (count("Running") > limit) fail(run, "S2: more than the limit")
  const active = calls.filter((status) => "mode" in status)
  if (active.some((status) => "mode" in status && status.mode === "exclusive") && active.length > 1) {
    fail(run, "S2: an exclusive call is not alone")
  }
  if (isStopped && command?._tag === "Start") fail(run, "S4: started after the stop")
  const done = calls.map(({ _tag }) => _tag === "Done")
  if (done.lastIndexOf(true) >= 0 && done.slice(0, done.lastIndexOf(true)).includes(false))
    fail(run, "S1: out of order")
  return run
}

const possible = ({ calls, isStopped }: State): ReadonlyArray<Event> => [
  ...calls.flatMap((status, index): ReadonlyArray<Event> => {
    switch (status._tag) {
      case "Gating":
        return [
          { _tag: "Gated", index },
          { _tag: "Settled", index }
        ]
      case "Running":
        return [{ _tag: "Settled", index }]
      case "Committing":
      case "Skipping":
        return [{ _tag: "Committed", index }]
      default:
        return []
    }
  }),
  ...(isStopped ? [] : [{ _tag: "Stopped" } as const])
]

describe("schedule", () => {
  it("S1 to S5 hold in every order of events, for every choice of modes, with every limit", () => {
    let ends = 0
    const explore = (run: Run): void => {
      const events = possible(run.state)
      if (events.every(({ _tag }) => _tag === "Stopped")) {
        ends++
        if (run.state.calls.some(({ _tag }) => _tag !== "Done")) fail(run, "S4: a call has no result")
      }
      for (const event of events) {
        const index = "index" in event ? ` ${event.index}` : ""
        const state = transition(run.state, event)
        explore(settle({ ...run, state, log: [...run.log, `${event._tag}${index}`] }))
      }
    }
    const modes: ReadonlyArray<Mode> = ["parallel", "exclusive"]
    for (const a of modes)
      for (const b of modes)
        for (const c of modes)
          for (const limit of [1, 2, 3]) explore(settle({ state: initial(3, limit), modes: [a, b, c], log: [] }))
    assert.isAbove(ends, 1000)
  })

  const play = (modes: ReadonlyArray<Mode>, limit: number, ...events: ReadonlyArray<Event>): ReadonlyArray<string> => {
    let run = settle({ state: initial(modes.length, limit), modes, log: [] })
    for (const event of events) run = settle({ modes, state: transition(run.state, event), log: run.log })
    return run.log
  }

  const gated = (index: number): Event => ({ _tag: "Gated", index })
  const settled = (index: number): Event => ({ _tag: "Settled", index })
  const committed = (index: number): Event => ({ _tag: "Committed", index })

  it("126. two of four at once: the third starts when the first has its result", () => {
    const log = play(["parallel", "parallel", "parallel", "parallel"], 2, gated(0), gated(1), settled(0), committed(0))
    assert.deepStrictEqual(log, ["Start 0", "Start 1", "Commit 0", "Start 2"])
  })

  it("128. who settles first waits for those before it", () => {
    const log = play(["parallel", "parallel"], 2, gated(0), gated(1), settled(1))
    assert.deepStrictEqual(log, ["Start 0", "Start 1"])
    const after = play(["parallel", "parallel"], 2, gated(0), gated(1), settled(1), settled(0), committed(0))
    assert.deepStrictEqual(after, ["Start 0", "Start 1", "Commit 0", "Commit 1"])
  })

  it("125. an exclusive call starts when all before it are done, and holds off those behind it", () => {
    const read = play(["parallel", "exclusive", "parallel"], 3, gated(0), settled(0), committed(0), gated(1))
    assert.deepStrictEqual(read, ["Start 0", "Commit 0", "Start 1"])
  })

  it("133. after a stop what runs is committed, and the others are skipped, in order", () => {
    const log = play(
      ["parallel", "parallel", "parallel", "parallel"],
      2,
      gated(0),
      gated(1),
      { _tag: "Stopped" },
      settled(1),
      settled(0),
      committed(0),
      committed(1),
      committed(2),
      committed(3)
    )
    assert.deepStrictEqual(log, ["Start 0", "Start 1", "Commit 0", "Commit 1", "Skip 2", "Skip 3"])
  })

  it("138. the mode is read again when the call could start", () => {
    const modes: Array<Mode> = ["parallel", "parallel"]
    const [state] = decide(initial(2, 2), (index) => modes[index] as Mode)
    modes[1] = "exclusive"
    const [after, command] = decide(transition(state, gated(0)), (index) => modes[index] as Mode)
    assert.isUndefined(command)
    const drained = transition(decide(transition(after, settled(0)), () => "exclusive")[0], committed(0))
    assert.deepStrictEqual(decide(drained, (index) => modes[index] as Mode)[1], { _tag: "Start", index: 1 })
  })
})
