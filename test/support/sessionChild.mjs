// An agent in a process that can be killed: it works on real files, runs real commands, and keeps its session in a file.
// Runs what was built.
//
//   sessionChild.mjs work FILE FOLDER ACKNOWLEDGED SEED   goes on with the session, turn after turn
//   sessionChild.mjs hold FILE                            opens the session, says so, and stays
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as NodeSession from "quiesce/node/NodeSession"

const [mode, file, folder, acknowledged, seed] = process.argv.slice(2)

/** What a model might say, by the number of the request: words, calls side by side and alone, nothing, a failure. */
const answerTo = (request) => {
  const n = request + Number(seed)
  const id = (letter) => `${letter}${process.pid}_${request}`
  const call = (letter, name, parameters) => [
    { _tag: "ToolCallStart", id: id(letter), name },
    { _tag: "ToolCallArguments", id: id(letter), text: JSON.stringify(parameters) }
  ]
  const write = call("w", "write_file", { path: `file${n % 3}.txt`, text: `${n} `.repeat(2000) })
  const run = call("r", "run_command", { command: "sh", args: ["-c", `echo ${n} >> log; sleep 0.01; echo done`] })
  const text = [
    { _tag: "Reasoning", text: "hm" },
    { _tag: "Text", text: `About ${n}, ` },
    { _tag: "Text", text: "more." }
  ]
  switch (n % 5) {
    case 0:
      return [...text, ...write, ...run, { _tag: "Finish", reason: "tool-calls" }]
    case 1:
      return [
        ...run,
        ...call("x", "read_file", { path: "file0.txt" }),
        ...write,
        { _tag: "Finish", reason: "tool-calls" }
      ]
    case 2:
      return [...write, ...call("u", "no_such_tool", {}), { _tag: "Finish", reason: "tool-calls" }]
    case 3:
      return [
        text[0],
        { _tag: "Finish", reason: "error", error: { code: "OVERLOADED", message: "later", isRetryable: false } }
      ]
    default:
      return [...text, { _tag: "Usage", inputTokens: n, outputTokens: 3 }, { _tag: "Finish", reason: "stop" }]
  }
}

const load = () =>
  Promise.all([
    import("quiesce/Agent"),
    import("quiesce/CancelCause"),
    import("quiesce/Session"),
    import("quiesce/Toolkit"),
    import("quiesce/ToolRuntime"),
    import("quiesce/capability/Model"),
    import("quiesce/node/NodeFileSystem"),
    import("quiesce/node/NodeProcess"),
    import("quiesce/tools/FileTools"),
    import("quiesce/tools/ProcessTools")
  ])

const work = Effect.gen(function* () {
  const [Agent, CancelCause, Session, Toolkit, ToolRuntime, Model, ...rest] = yield* Effect.promise(load)
  const [NodeFileSystem, NodeProcess, FileTools, ProcessTools] = rest
  const log = fs.openSync(acknowledged, "a")
  const session = Layer.scoped(
    Session.Session,
    Effect.map(NodeSession.make({ file, sync: "never" }), (session) => ({
      ...session,
      append: (event) => {
        const envelope = session.append(event)
        fs.writeSync(log, `${envelope.seq}\n`)
        return envelope
      }
    }))
  )
  let requests = 0
  const model = Model.layer(() => Stream.rechunk(Stream.fromIterable(answerTo(++requests)), 1))
  const files = NodeFileSystem.layer({ root: folder })
  const toolkit = Toolkit.merge(FileTools.make(), ProcessTools.make({ cwd: folder }))
  const runtime = Layer.provide(ToolRuntime.layer({ toolkit }), [files, NodeProcess.layer])
  const turns = Effect.gen(function* () {
    const agent = yield* Agent.make({ id: "clerk", model: "scripted" })
    for (let turn = 1; ; turn++) {
      yield* agent.followup(`Task ${turn}.`)
      if (turn % 2 === 0) yield* agent.steer("More.")
      if (turn % 3 === 0) yield* agent.inject("By the way.")
      if (turn % 4 === 0) {
        yield* Effect.sleep(turn % 16)
        yield* agent.cancel(CancelCause.user(), { keepInbox: turn % 8 === 0 })
      }
      yield* agent.whenIdle
    }
  })
  yield* Effect.scoped(Effect.provide(turns, Layer.mergeAll(model, runtime, session)))
})

const hold = Effect.scoped(
  Effect.zipRight(
    NodeSession.make({ file, sync: "never" }),
    Effect.async(() => {
      process.stdout.write("open\n")
      setInterval(() => {}, 1000)
    })
  )
)

const program = Effect.provide(mode === "work" ? work : hold, Logger.remove(Logger.defaultLogger))

Effect.runPromise(program).catch((error) => {
  process.stdout.write(`${error.message}\n`)
})
