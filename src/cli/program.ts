/**
 * The command line as one Effect: what is done, in which order, and what the program leaves with.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Cancellation } from "../Cancellation.js"
import * as FileSystem from "../capability/FileSystem.js"
import * as Task from "../capability/Task.js"
import * as NodeHttp from "../node/NodeHttp.js"
import * as NodeProcess from "../node/NodeProcess.js"
import * as Args from "./args.js"
import type { BadInput } from "./badInput.js"
import * as Display from "./display.js"
import { embeddedPlan } from "./embeddedPlan.js"
import type { Output } from "./output.js"
import * as Plan from "./plan.js"
import * as PlanFile from "./planFile.js"
import { loadPlatform, type PlatformMissing } from "./platform.js"
import * as Report from "./report.js"
import { runPlan } from "./runPlan.js"
import * as Stopping from "./stopping.js"
import { makeToolkit } from "./tools.js"
import { help, usage } from "./usage.js"
import * as Workspace from "./workspace.js"

type Run = Extract<Args.Command, { readonly _tag: "Run" }>

/** Shows the events of a plan, from now until the scope closes. */
const startDisplay = (output: Output, plan: Plan.Plan): Effect.Effect<Display.Display, never, Scope.Scope> =>
  Effect.gen(function* () {
    if (!output.isTerminal) return Display.plain(output, plan, yield* Clock.currentTimeMillis)
    const display = Display.live(output, plan)
    yield* Effect.addFinalizer(() => Effect.sync(() => output.draw([])))
    const tick = Effect.map(Clock.currentTimeMillis, display.tick)
    yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced("100 millis")))
    return display
  })

const run = (output: Output, args: Run): Effect.Effect<number, BadInput | PlatformMissing, Cancellation> =>
  Effect.gen(function* () {
    const stopping = yield* Stopping.listen(output)
    const toolkit = makeToolkit({ cwd: "." })
    const plan =
      args.plan === undefined
        ? yield* Plan.check(embeddedPlan(), "the built-in plan", toolkit)
        : yield* PlanFile.read(args.plan, toolkit)
    const workspace =
      args.plan === undefined ? yield* Workspace.temporary : yield* Workspace.existing(args.workspace ?? ".")
    const files = Layer.provide(FileSystem.layer({ root: workspace }), yield* loadPlatform)
    const capabilities = Layer.mergeAll(files, NodeProcess.layer, NodeHttp.layer(), Task.layer())

    const outcomes = yield* Effect.gen(function* () {
      const display = args.json ? Display.silent : yield* startDisplay(output, plan)
      yield* Stopping.after(args.cancelAfterMillis, stopping, output)
      return yield* runPlan(plan, { workspace, stop: stopping.stop, onEvent: display.show })
    }).pipe(Effect.scoped, Effect.provide(capabilities))
    const { signal, stop } = stopping
    const cause = yield* Deferred.poll(stop)
    const report = {
      plan: args.plan,
      workspace,
      outcomes,
      stopped: cause._tag === "Some" ? yield* cause.value : undefined
    }
    output.write(args.json ? Report.json(report) : Report.text(report))
    return (yield* Deferred.isDone(signal)) ? (yield* Deferred.await(signal)).exitCode : 0
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
        }),
      PlatformMissing: ({ message }) =>
        Effect.sync(() => {
          output.complain(`quiesce: ${message}`)
          return 1
        })
    }),
    Effect.provide(Logger.replace(Logger.defaultLogger, output.logger))
  )
