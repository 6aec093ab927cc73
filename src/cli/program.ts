/**
 * The command line as one Effect: what is done, in which order, and what the program leaves with.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Cancellation } from "../Cancellation.js"
import * as Approval from "../capability/Approval.js"
import * as Session from "../Session.js"
import * as Args from "./args.js"
import { BadInput } from "./badInput.js"
import { converse } from "./conversation.js"
import * as Display from "./display.js"
import type { Output } from "./output.js"
import * as Page from "./page.js"
import * as Permission from "./permission.js"
import { prepare } from "./prepare.js"
import * as Report from "./report.js"
import * as Resume from "./resume.js"
import * as RunAgent from "./runAgent.js"
import * as Stopping from "./stopping.js"
import * as Terminal from "./terminal.js"
import { help, usage } from "./usage.js"

/** Shows what an agent does, from now until the scope closes. */
const startDisplay = (output: Output, args: Args.Run): Effect.Effect<Display.Display, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (args.json) return Display.silent
    if (args.interactive) return Display.chat(output)
    if (!output.isTerminal) return Display.plain(output, yield* Clock.currentTimeMillis)
    const display = Display.live(output)
    yield* Effect.addFinalizer(() => Effect.sync(() => output.draw([])))
    const tick = Effect.map(Clock.currentTimeMillis, display.tick)
    yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("100 millis")))
    return display
  })

/** Who is asked: the person in the conversation, or one who is at the terminal all the same. */
const approvalOf = (
  args: Args.Run,
  output: Output,
  terminal: Terminal.Terminal | undefined
): Layer.Layer<Approval.Approval> => {
  if (args.yes) return Approval.layerConst("allowed-once")
  if (terminal !== undefined) return Permission.layer(terminal)
  return process.stdin.isTTY === true && !args.json
    ? Permission.layerOnce(Terminal.open(output, process, Terminal.signalInterrupt))
    : Approval.layerConst("unavailable")
}

const defaultTask = "Do what the plan says."

/** Does what is to be done, until it is done or was stopped. */
const work = (
  running: RunAgent.Running,
  args: Args.Run,
  terminal: Terminal.Terminal | undefined,
  stopping: Stopping.Stopping,
  output: Output
): Effect.Effect<void, BadInput, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent } = running
    const { stop } = stopping
    const stopAgent = Effect.flatMap(Deferred.await(stop), (cause) => agent.cancel(cause))
    const task = args.task ?? (terminal === undefined ? defaultTask : undefined)
    if (task !== undefined && !(yield* Deferred.isDone(stop))) {
      yield* Effect.mapError(agent.followup(task), ({ message }) => new BadInput({ messages: [message] }))
    }
    yield* Effect.forkScoped(stopAgent)
    yield* terminal === undefined ? agent.whenIdle : converse(running, terminal, stopping, output)
    // Whoever asked for the stop is named as its cause, and not the end of the agent.
    if (yield* Deferred.isDone(stop)) yield* stopAgent
    yield* running.finish
  })

/** The code of a turn that failed: the provider could not be asked, the session could not be written. */
const codeOf = (session: Session.Service): number => {
  const last = session.events().findLast(({ event }) => event._tag === "TurnEnded")?.event
  return last?._tag === "TurnEnded" && last.outcome._tag === "Error" ? 1 : 0
}

const run = (output: Output, args: Args.Run): Effect.Effect<number, BadInput, Cancellation> =>
  Effect.gen(function* () {
    const stopping = yield* Stopping.listen(output)
    const { capabilities, isSessionWhole, ...options } = yield* prepare(args)
    if (args.html !== undefined) yield* Page.mustBeWritable(args.html)
    const failed = yield* Effect.gen(function* () {
      const session = yield* Session.Session
      yield* Resume.mustFit(options.plan, session.messages(), args.session)
      const display = yield* startDisplay(output, args)
      const terminal = args.interactive ? yield* Terminal.open(output, process) : undefined
      const running = yield* Effect.provide(
        RunAgent.start({ ...options, onEvent: display.show }),
        approvalOf(args, output, terminal)
      )
      yield* Stopping.after(args.cancelAfterMillis, stopping, output)
      yield* work(running, args, terminal, stopping, output)
      yield* Effect.sync(() => output.draw([]))
      const { recording } = running
      const content = { events: session.events(), calls: recording.calls }
      const hasPage = args.html === undefined || (yield* Page.write(args.html, content))
      if (!args.interactive) {
        const cause = yield* Deferred.poll(stopping.stop)
        const report = Report.make(
          args.source,
          options,
          session.events(),
          recording,
          cause._tag === "Some" ? yield* cause.value : undefined
        )
        output.write(args.json ? Report.json(report) : Report.text(report))
      }
      const hasSession = yield* isSessionWhole
      if (!hasSession) {
        output.complain(
          `quiesce: --session ${args.session}: not all of what happened could be written to it (see above)`
        )
      }
      return hasPage && hasSession ? codeOf(session) : 1
    }).pipe(Effect.scoped, Effect.provide(capabilities))
    return (yield* stopping.exitCode) ?? failed
  }).pipe(Effect.scoped)

/** Does what the command line asks for. Succeeds with what to leave with. */
export const program = (output: Output, args: ReadonlyArray<string>): Effect.Effect<number, never, Cancellation> =>
  Effect.gen(function* () {
    const command = yield* Args.read(args)
    if (command._tag === "Run") return yield* run(output, command)
    output.write(help.trimEnd())
    return 0
  }).pipe(
    Effect.catchTags({
      BadInput: ({ messages, showUsage }) =>
        Effect.sync(() => {
          for (const message of messages) output.complain(`quiesce: ${message}`)
          if (showUsage === true) output.complain(`${usage}\nquiesce run --help explains it.`)
          return 2
        })
    }),
    Effect.provide(Logger.replace(Logger.defaultLogger, output.logger))
  )
