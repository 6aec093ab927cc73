/** Cases K to N: where an agent is cancelled, its inbox, what is kept of an answer, disposal and maintenance. */
import { assert } from "@effect/vitest"
import type { Model } from "quiesce/capability"
import { SessionLog } from "quiesce/testing"
import { type AgentScenario, type Answers, answered, ends, endTags, type Played, said, tags } from "./agentDriver.js"
import { abortOf, gate, isPending, reason, settle } from "./driver.js"

const finish: Model.Chunk = { _tag: "Finish", reason: "stop" }
const text = (text: string): Model.Chunk => ({ _tag: "Text", text })

async function* reply(words: string): AsyncGenerator<Model.Chunk> {
  yield text(words)
  yield finish
}
async function* callWork(): AsyncGenerator<Model.Chunk> {
  yield { _tag: "ToolCallStart", id: "c1", name: "work" }
  yield { _tag: "Finish", reason: "tool-calls" }
}

/** Says a word, and then nothing until it is stopped. */
const partial =
  (then: Answers = () => reply("done")): Answers =>
  (request, given, index) =>
    index > 0
      ? then(request, given, index)
      : (async function* () {
          yield text("partial")
          await abortOf(given.signal)
        })()

const callsOnce: Answers = (_, __, index) => (index === 0 ? callWork() : reply("done"))

/** Waits until something has happened. */
const until = async (agent: Played, tag: string): Promise<void> => {
  const has = () => agent.session.events().some(({ event }) => event._tag === tag)
  for (let i = 0; i < 1000 && !has(); i++) await new Promise((resolve) => setImmediate(resolve))
  assert.isTrue(has(), `there was no ${tag}: ${tags(agent).join(" ")}`)
}

const isBalanced = (agent: Played): void => assert.deepStrictEqual(SessionLog.problems(agent.session.events()), [])

export const agents: ReadonlyArray<AgentScenario> = [
  {
    title: "145: a cancel of an agent at rest is nothing",
    run: async ({ make }) => {
      const agent = await make({ answers: () => reply("hello") })
      agent.cancel()
      await agent.followup("hi")
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), ["Completed"])
      assert.deepStrictEqual(answered(agent), ["hello"])
      isBalanced(agent)
    }
  },
  {
    title: "146: sent, sent, and cancelled in one step: one turn that says so, and no request",
    run: async ({ make }) => {
      let requests = 0
      const agent = await make({
        answers: () => {
          requests++
          return reply("no")
        }
      })
      void agent.followup("one")
      void agent.followup("two")
      agent.cancel()
      await agent.whenIdle()
      assert.deepStrictEqual(ends(agent), [{ _tag: "Cancelled", cause: { _tag: "User" } }])
      assert.deepStrictEqual(said(agent), [])
      assert.strictEqual(requests, 0)
      assert.strictEqual(agent.status(), "idle")
      isBalanced(agent)
    }
  },
  ...(["instructions", "beforeStep"] as const).map(
    (stage): AgentScenario => ({
      title: `149: cancelled during ${stage}, which is awaited`,
      run: async ({ make }) => {
        const wait = gate()
        let seen: unknown
        const stop = async ({ signal }: { readonly signal: AbortSignal }) => {
          await abortOf(signal)
          seen = signal.reason
          await wait.promise
          return "enter" as const
        }
        const agent = await make({ answers: () => reply("no"), [stage]: stop })
        await agent.followup("one")
        await settle()
        agent.cancel({ reason })
        const idle = agent.whenIdle()
        assert.isTrue(await isPending(idle), "156: nothing is abandoned")
        wait.open()
        await idle
        assert.strictEqual(seen, reason)
        assert.deepStrictEqual(endTags(agent), ["Cancelled"])
        assert.notInclude(tags(agent), "ModelRequested")
        isBalanced(agent)
      }
    })
  ),
  {
    title:
      "150, 185, 158: cancelled in the middle of an answer: its beginning is kept, the tail is dropped, and the next turn runs",
    run: async ({ make }) => {
      const agent = await make({ answers: partial() })
      await agent.followup("one")
      await agent.followup("two")
      await until(agent, "ModelChunk")
      agent.cancel()
      await agent.whenIdle()
      assert.deepStrictEqual(answered(agent), ["partial…"])
      assert.deepStrictEqual(endTags(agent), ["Cancelled"])
      await agent.followup("three")
      await agent.whenIdle()
      assert.deepStrictEqual(said(agent), ["one", "three"])
      assert.deepStrictEqual(endTags(agent), ["Cancelled", "Completed"])
      isBalanced(agent)
    }
  },
  {
    title: "151: cancelled while it is about to stop",
    run: async ({ make }) => {
      const agent = await make({ answers: () => reply("hello"), beforeStop: ({ signal }) => abortOf(signal) })
      await agent.followup("one")
      await until(agent, "StepEnded")
      await settle()
      agent.cancel()
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), ["Cancelled"])
      isBalanced(agent)
    }
  },
  {
    title: "153: the first cause stays, and is the reason of every signal, the same object",
    run: async ({ make }) => {
      const seen: Array<unknown> = []
      const agent = await make({
        answers: callsOnce,
        work: async ({ signal }) => {
          await abortOf(signal)
          seen.push(signal.reason)
          return "stopped"
        }
      })
      await agent.followup("one")
      await until(agent, "CallStarted")
      await settle()
      agent.cancel({ reason })
      agent.cancel({ reason: new Error("another") })
      await agent.whenIdle()
      assert.strictEqual(seen[0], reason)
      assert.deepStrictEqual(ends(agent), [{ _tag: "Cancelled", cause: { _tag: "HostSignal", reason: "stop" } }])
      isBalanced(agent)
    }
  },
  {
    title: "154: cancelled, and then disposed of: the first cause stays",
    run: async ({ make }) => {
      const agent = await make({ answers: partial() })
      await agent.followup("one")
      await until(agent, "ModelChunk")
      agent.cancel()
      await agent.dispose()
      assert.deepStrictEqual(ends(agent), [{ _tag: "Cancelled", cause: { _tag: "User" } }])
    }
  },
  {
    title: "156: a tool that ignores its signal holds the agent, and has its result",
    run: async ({ make }) => {
      const wait = gate()
      const agent = await make({ answers: callsOnce, work: () => wait.promise.then(() => "late") })
      await agent.followup("one")
      await until(agent, "CallStarted")
      await settle()
      agent.cancel()
      const idle = agent.whenIdle()
      assert.isTrue(await isPending(idle))
      assert.strictEqual(agent.status(), "running")
      wait.open()
      await idle
      const results = agent.session.events().flatMap(({ event }) => (event._tag === "CallEnded" ? [event.result] : []))
      assert.strictEqual(results.length, 1)
      assert.deepInclude(results[0], { code: "ABORTED", dispatched: true })
      isBalanced(agent)
    }
  },
  {
    title: "162: a cancel of an agent at rest leaves what is parked",
    run: async ({ make }) => {
      const agent = await make({ answers: () => reply("hello") })
      await agent.inject("parked")
      agent.cancel()
      await agent.followup("now")
      await agent.whenIdle()
      assert.deepStrictEqual(said(agent), ["parked", "now"])
    }
  },
  {
    title: "164: as many turns as messages, in order",
    run: async ({ make }) => {
      const agent = await make({ answers: (_, __, index) => reply(`answer ${index}`) })
      for (const words of ["one", "two", "three"]) void agent.followup(words)
      await agent.whenIdle()
      assert.deepStrictEqual(said(agent), ["one", "two", "three"])
      assert.deepStrictEqual(endTags(agent), ["Completed", "Completed", "Completed"])
      isBalanced(agent)
    }
  },
  {
    title: "165: with keepInbox what waits stays, and runs with the next wake",
    run: async ({ make }) => {
      const agent = await make({ answers: partial() })
      await agent.followup("one")
      await agent.followup("two")
      await until(agent, "ModelChunk")
      agent.cancel({ keepInbox: true })
      await agent.whenIdle()
      assert.deepStrictEqual(said(agent), ["one"])
      await agent.followup("three")
      await agent.whenIdle()
      assert.deepStrictEqual(said(agent), ["one", "two", "three"])
      isBalanced(agent)
    }
  },
  {
    title: "166: cancelled, and sent something in the same step",
    run: async ({ make }) => {
      const agent = await make({ answers: partial() })
      await agent.followup("one")
      await until(agent, "ModelChunk")
      agent.cancel({ keepInbox: true })
      void agent.followup("two")
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), ["Cancelled", "Completed"])
      isBalanced(agent)
    }
  },
  {
    title: "175: what is steered while a tool runs is read in the next step, behind its result",
    run: async ({ make }) => {
      const wait = gate()
      const agent = await make({ answers: callsOnce, work: () => wait.promise.then(() => "done") })
      await agent.followup("one")
      await until(agent, "CallStarted")
      await agent.steer("and this")
      await agent.inject("and that")
      wait.open()
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), ["Completed"])
      assert.deepStrictEqual(
        agent.messages().map(({ role }) => role),
        ["user", "assistant", "tool", "user", "user", "assistant"]
      )
      isBalanced(agent)
    }
  },
  {
    title: "176: what is injected at rest wakes nobody",
    run: async ({ make }) => {
      const agent = await make({ answers: () => reply("hello") })
      await agent.inject("later")
      assert.strictEqual(agent.status(), "idle")
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), [])
    }
  },
  {
    title: "177, 179: a step that is refused, and one that nothing enters",
    run: async ({ make }) => {
      const refused = await make({ answers: () => reply("no"), beforeStep: async () => "reject" })
      await refused.followup("one")
      await refused.whenIdle()
      assert.deepStrictEqual(ends(refused), [{ _tag: "Blocked", reason: "not now" }])
      assert.notInclude(tags(refused), "StepStarted")
      const empty = await make({ answers: () => reply("no"), beforeStep: async () => "nothing" })
      await empty.followup("one")
      await empty.whenIdle()
      assert.deepStrictEqual(endTags(empty), ["Completed"])
      assert.notInclude(tags(empty), "ModelRequested")
    }
  },
  {
    title: "174, 178: a function that throws ends the turn, and nobody hangs",
    run: async ({ make }) => {
      const agent = await make({
        answers: () => reply("no"),
        beforeStep: () => Promise.reject(new Error("hook broke"))
      })
      await agent.followup("one")
      await agent.whenIdle()
      assert.deepStrictEqual(endTags(agent), ["Error"])
      assert.strictEqual(agent.status(), "idle")
    }
  },
  {
    title: "191: the end of a provider is awaited, and nothing that comes after the cancel is logged",
    run: async ({ make }) => {
      const wait = gate()
      let isOver = false
      const agent = await make({
        answers: (_, { signal }) =>
          (async function* () {
            try {
              yield text("partial")
              await abortOf(signal)
              yield text("late")
            } finally {
              await wait.promise
              isOver = true
            }
          })()
      })
      await agent.followup("one")
      await until(agent, "ModelChunk")
      agent.cancel()
      const idle = agent.whenIdle()
      assert.isTrue(await isPending(idle))
      wait.open()
      await idle
      assert.isTrue(isOver)
      assert.deepStrictEqual(answered(agent), ["partial…"])
    }
  },
  {
    title: "192, 195, 197, 198: disposed of in the middle of an answer: one promise, and nothing starts any more",
    run: async ({ make }) => {
      const agent = await make({ answers: partial() })
      await agent.followup("one")
      await agent.followup("two")
      await until(agent, "ModelChunk")
      const disposed = agent.dispose()
      assert.strictEqual(agent.dispose(), disposed)
      const late = await agent.followup("late").catch(({ code }) => code)
      assert.strictEqual(late, "AGENT_CLOSED")
      await disposed
      assert.deepStrictEqual(ends(agent), [{ _tag: "Cancelled", cause: { _tag: "Disposed" } }])
      assert.strictEqual(agent.status(), "closed")
      assert.deepStrictEqual(said(agent), ["one"])
      assert.strictEqual(await agent.steer("late").catch(({ code }) => code), "AGENT_CLOSED")
    }
  },
  {
    title: "194: disposed of while a tool runs: its body is awaited",
    run: async ({ make }) => {
      const wait = gate()
      const agent = await make({ answers: callsOnce, work: () => wait.promise.then(() => "done") })
      await agent.followup("one")
      await until(agent, "CallStarted")
      await settle()
      const disposed = agent.dispose()
      assert.isTrue(await isPending(disposed))
      wait.open()
      await disposed
      isBalanced(agent)
    }
  },
  {
    title: "200: maintenance runs alone, a cancel aborts its signal, and a message that came meanwhile runs afterwards",
    run: async ({ make }) => {
      const agent = await make({ answers: () => reply("hello") })
      const maintained = agent.runMaintenance(async ({ signal }) => {
        await abortOf(signal)
        return "kept"
      })
      maintained.catch(() => {})
      await settle()
      assert.strictEqual(await agent.runMaintenance(async () => 1).catch(({ code }) => code), "AGENT_BUSY")
      agent.cancel({ keepInbox: true })
      await agent.followup("one")
      await agent.whenIdle()
      assert.isFalse(await isPending(maintained))
      assert.deepStrictEqual(endTags(agent), ["Completed"])
      assert.strictEqual(await agent.runMaintenance(async () => "clean"), "clean")
    }
  }
]
