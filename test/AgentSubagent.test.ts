import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import {
  Agent,
  AgentSubagent,
  CancelCause,
  Cancellation,
  Content,
  Session,
  Tool,
  ToolContext,
  Toolkit,
  ToolRuntime
} from "quiesce"
import { Model, Subagent, Task } from "quiesce/capability"
import { ScriptedModel, SessionLog } from "quiesce/testing"
import { settle, silently } from "./support/agents.js"
import { itKeepsTheContract, type Make } from "./support/contracts/subagent.js"

const lastSaid = ({ messages }: Model.Request): string => {
  const last = messages.findLast(({ role }) => role === "user")
  return last?.role === "user" ? Content.toText(last.content) : ""
}

const answer = ({ error, outcome, output }: Subagent.Result): ReadonlyArray<Model.Chunk> => {
  const reason = { completed: "stop", "max-tokens": "length", refusal: "content-filter" } as const
  return [
    ...(output === "" ? [] : [Model.Text.make({ text: output })]),
    error === undefined
      ? Model.Finish.make({ reason: reason[outcome as keyof typeof reason] })
      : Model.Finish.make({
          reason: "error",
          error: { code: "INVALID_REQUEST", message: error.message, isRetryable: false }
        })
  ]
}

const world: Make = ({
  maxChildren,
  whenDisposed = Effect.void,
  whenStarted = Effect.void,
  whenStopped = Effect.void
}) => {
  const ends = new Map<string, Deferred.Deferred<Subagent.Result>>()
  const running = new Set<string>()
  let alive = 0
  const endOf = (message: string) => {
    const end = ends.get(message) ?? Effect.runSync(Deferred.make<Subagent.Result>())
    ends.set(message, end)
    return end
  }
  const model = Layer.succeed(Model.Model, {
    stream: (request) =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          const said = lastSaid(request)
          yield* Effect.acquireRelease(
            Effect.sync(() => running.add(said)),
            () => Effect.sync(() => running.delete(said))
          )
          const result = yield* Effect.onInterrupt(Deferred.await(endOf(said)), () => whenStopped)
          return Stream.fromIterable(answer(result))
        })
      )
  })
  const session = ({ id }: { readonly id: string }) =>
    Effect.gen(function* () {
      yield* Effect.addFinalizer(() => whenDisposed)
      yield* Effect.acquireRelease(
        Effect.sync(() => alive++),
        () => Effect.sync(() => alive--)
      )
      yield* whenStarted
      return yield* Session.make({ agent: id })
    })
  return {
    layer: AgentSubagent.layer({
      profiles: { worker: { model: "scripted" } },
      session,
      ...(maxChildren === undefined ? {} : { maxChildren })
    }).pipe(Layer.provide([model, ToolRuntime.layer()])),
    end: (message, result) => Deferred.succeed(endOf(message), result),
    running: () => [...running],
    alive: () => alive
  }
}

/** Subagents of one profile over a scripted model. */
const subagents = (
  answers: ScriptedModel.Answers,
  options: Partial<AgentSubagent.Options> = {},
  profile: Partial<AgentSubagent.Profile> = {}
) =>
  Layer.unwrapEffect(
    Effect.map(ScriptedModel.make(answers), ({ layer }) =>
      AgentSubagent.layer({ profiles: { worker: { model: "scripted", ...profile } }, ...options }).pipe(
        Layer.provide([layer, ToolRuntime.layer()])
      )
    )
  )

const work = { profile: "worker", task: "Work." }

describe("AgentSubagent", () => {
  itKeepsTheContract(world)

  it.effect("a child that was cancelled keeps what it had said, and every call of it has its result", () =>
    Effect.gen(function* () {
      const sessions: Array<Session.Service> = []
      const reached = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        parameters: {},
        success: Schema.String,
        handler: () => Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
      })
      const runtime = yield* ToolRuntime.make({ toolkit: Toolkit.make(wait) })
      const layer = subagents(
        [
          [
            Model.Text.make({ text: "I look first." }),
            ...ScriptedModel.calls({ id: "c1", name: "wait", parameters: {} })
          ]
        ],
        {
          session: ({ id }) => Effect.tap(Session.make({ agent: id }), (made) => Effect.sync(() => sessions.push(made)))
        },
        { runtime }
      )
      yield* Effect.gen(function* () {
        const id = yield* Cancellation.own(Subagent.start({ ...work, attachment: "detached" }))
        yield* Deferred.await(reached)
        yield* Subagent.interrupt(id, CancelCause.user("enough"))
        const { result } = yield* Cancellation.own(Subagent.wait(id))
        assert.deepStrictEqual(result, { outcome: "aborted", output: "I look first." })
        assert.deepStrictEqual(SessionLog.problems(sessions[0]?.events() ?? []), [])
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped)
  )

  it.effect("a turn that a policy blocks is an error of the child", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Cancellation.own(Subagent.run(work)))
      assert.strictEqual(error.code, "SUBAGENT_ERROR")
      assert.match(error.message, /BLOCKED: not today/)
    }).pipe(Effect.provide(subagents([], {}, { beforeStep: () => Effect.succeed(Agent.reject("not today")) })))
  )

  it.effect("a session that cannot be made, or cannot take the task, leaves nothing of the child", () =>
    Effect.gen(function* () {
      const start = Cancellation.own(Subagent.start({ ...work, attachment: "detached" }))
      const noSession = subagents([], { session: () => Effect.fail("no disk") })
      const error = yield* Effect.flip(Effect.provide(start, noSession))
      assert.strictEqual(error.code, "SUBAGENT_NOT_STARTED")
      assert.match(error.message, /no disk/)
      let closed = 0
      const full = subagents([], {
        maxChildren: 1,
        session: () =>
          Effect.map(
            Effect.acquireRelease(Session.make(), () => Effect.sync(() => void closed++)),
            (session) => ({
              ...session,
              append: () => {
                throw new Session.SessionError({ operation: "append", session: "s", reason: "NoSpace" })
              }
            })
          )
      })
      yield* Effect.gen(function* () {
        for (const attempt of [1, 2]) {
          assert.strictEqual((yield* Effect.flip(start)).code, "SUBAGENT_NOT_ACCEPTED")
          assert.strictEqual(closed, attempt)
        }
        assert.deepStrictEqual(yield* Subagent.list, [])
      }).pipe(Effect.provide(full))
    })
  )

  it.effect("a child has what its layer was built with, and not what its starter has in context", () =>
    Effect.gen(function* () {
      const seen: Array<boolean> = []
      const instructions = () =>
        Effect.map(Effect.context<never>(), (context) => {
          seen.push(
            Context.getOption(context as Context.Context<ToolContext.ToolContext>, ToolContext.ToolContext)._tag ===
              "Some"
          )
          return "You work."
        })
      const layer = subagents([ScriptedModel.reply("Done.")], {}, { instructions })
      const ask = Tool.make("ask", {
        description: "Asks an agent",
        parameters: {},
        success: Schema.String,
        failure: Schema.Unknown,
        handler: () => Subagent.run(work)
      })
      const call = ToolRuntime.execute({ id: "c1", name: "ask", parameters: {} })
      const runtime = ToolRuntime.layer({ toolkit: Toolkit.make(ask) }).pipe(Layer.provide(layer))
      const result = yield* Effect.provide(Cancellation.own(call), runtime)
      assert.deepStrictEqual([result._tag === "Success" && result.value, seen], ["Done.", [false]])
    })
  )

  it.effect("a tool of a child that waits for the child is told so, and can dispose of it without waiting", () =>
    Effect.gen(function* () {
      const codes: Array<string> = []
      const self = Tool.make("self", {
        description: "Waits for itself",
        parameters: {},
        success: Schema.String,
        failure: Schema.Unknown,
        handler: () =>
          Effect.gen(function* () {
            const [child] = yield* Subagent.list
            const id = child?.id ?? ""
            codes.push((yield* Effect.flip(Subagent.wait(id))).code)
            yield* Subagent.dispose(id)
            return yield* Effect.never
          })
      })
      const runtime = yield* ToolRuntime.make({})
      const layer = subagents([ScriptedModel.calls({ id: "c1", name: "self", parameters: {} })], {}, { runtime })
      yield* Effect.gen(function* () {
        yield* runtime.register(self)
        const error = yield* Effect.flip(Cancellation.own(Subagent.run(work)))
        assert.strictEqual(error.code, "SUBAGENT_ABORTED")
        assert.deepStrictEqual(codes, ["SUBAGENT_WAITS_FOR_ITSELF"])
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped)
  )

  describe("234. run as a task", () => {
    const start = Cancellation.own(Task.start({ label: "a subagent", run: () => Subagent.run(work) }))

    const killed = (layer: Layer.Layer<Subagent.Subagent>) =>
      Effect.gen(function* () {
        const id = yield* start
        yield* settle
        yield* Task.kill(id)
        const snapshot = yield* Cancellation.own(Task.wait(id))
        assert.deepStrictEqual(
          (yield* Subagent.list).filter(({ status }) => status !== "disposed"),
          []
        )
        return snapshot
      }).pipe(Effect.provide(Layer.merge(layer, Task.layer())), silently)

    it.effect("killed while its start is pending, it is killed, and nothing was published", () =>
      Effect.gen(function* () {
        let isClosed = false
        const session = () =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              isClosed = true
            })
          )
        assert.strictEqual((yield* killed(subagents([], { session }))).status, "killed")
        assert.isTrue(isClosed)
      })
    )

    it.effect("killed while it runs, it is killed", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* killed(subagents([[Effect.never]]))).status, "killed")
      })
    )

    it.effect.each([
      ["while its start is pending", Effect.never],
      ["while it runs", Effect.void]
    ] as const)("killed %s, with a clean-up that fails, it has failed", ([, pending]) =>
      Effect.gen(function* () {
        const session = () =>
          Effect.zipRight(
            Effect.addFinalizer(() => Effect.dieMessage("no space left")),
            Effect.zipRight(pending, Session.make())
          )
        const { error, status } = yield* killed(subagents([[Effect.never]], { session }))
        assert.strictEqual(status, "failed")
        assert.match(error ?? "", /no space left/)
      })
    )

    it.effect("a child that declined has failed", () =>
      Effect.gen(function* () {
        const id = yield* start
        const { error, status } = yield* Cancellation.own(Task.wait(id))
        assert.deepStrictEqual(status, "failed")
        assert.match(error ?? "", /declined the task/)
      }).pipe(Effect.provide(Layer.merge(subagents([[Model.Finish.make({ reason: "content-filter" })]]), Task.layer())))
    )
  })

  it.effect("run interrupted is answered when the child is gone", () =>
    Effect.gen(function* () {
      const gate = yield* ScriptedModel.gate
      const run = yield* Effect.fork(
        Effect.provide(
          Cancellation.own(Subagent.run(work)),
          subagents([[Effect.onInterrupt(Effect.never, () => Effect.uninterruptible(gate.wait))]])
        )
      )
      yield* settle
      const interrupting = yield* Effect.fork(Fiber.interrupt(run))
      yield* gate.reached
      yield* settle
      assert.isNull(run.unsafePoll())
      yield* gate.open
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interrupting)))
    })
  )

  it.effect("limits that cannot work are refused when the layer is built", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(subagents([], { maxChildren: Number.NaN }))))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /maxChildren must be an integer/)
    })
  )
})
