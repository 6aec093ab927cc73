/**
 * A tool that runs a program which makes calls of other tools.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Content from "../Content.js"
import * as CodeRuntime from "../capability/CodeRuntime.js"
import * as Tool from "../Tool.js"
import { ToolContext } from "../ToolContext.js"
import * as Toolkit from "../Toolkit.js"

/**
 * How code is run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The time for one call of the tool. Default: no limit but that of `limits`. */
  readonly timeout?: Duration.DurationInput | undefined
  /** The limits of the code. Default: those of `CodeRuntime.run`. */
  readonly limits?: Pick<CodeRuntime.RunOptions, "timeout" | "maxMemoryMb" | "maxOutputBytes" | "maxLogBytes">
}

// On the first line of the code, so that lines count as the model has written them; the code may use its names anew.
const program = (code: string): string =>
  "const call = (name, parameters = {}) => $call({ name, parameters }); " +
  "const tools = new Proxy({}, { get: (_, name) => " +
  'typeof name === "symbol" || name === "then" ? undefined : (parameters) => call(name, parameters) }); ' +
  `{${code}\n}`

const isCall = Schema.is(Schema.Struct({ name: Schema.String, parameters: Schema.Unknown }))

const refused = (message: string) => Effect.fail({ _tag: "CallRefused", code: "CALL_REFUSED", message })

const callTool = (argument: unknown) =>
  Effect.flatMap(ToolContext, (context) => {
    if (!isCall(argument)) return refused("call takes the name of a tool and its parameters")
    if (argument.name === context.tool) return refused(`${context.tool} cannot call itself`)
    return Effect.flatMap(context.call(argument.name, argument.parameters), (result) =>
      result._tag === "Success"
        ? Effect.succeed(result.value)
        : Effect.fail({ _tag: result.name, code: result.code, message: result.message })
    )
  })

const textOf = (logs: ReadonlyArray<CodeRuntime.Log>): string =>
  ["What the code had logged:", ...logs.map(({ level, text }) => (level === "log" ? text : `${level}: ${text}`))].join(
    "\n"
  )

/**
 * `run_code`: JavaScript that can make calls of other tools (see `CodeRuntime`). In it `tools.read_file({ path })`, or
 * `call("read_file", { path })`, is a call through all policies with a result of its own (see `ToolContext.Service.call`);
 * it gives the value, or throws an error with `code` and `message`.
 *
 * A cancel of the call ends the code, whatever it does, cancels the calls that run and makes none that waits; the result
 * comes when all of them have theirs. Where there is no value, the model is told what was logged by then.
 *
 * @since 0.1.0
 * @category constructors
 */
export const runCode = ({ limits, timeout }: Options = {}) =>
  Tool.make("run_code", {
    description:
      "Runs JavaScript, the body of an async function, and gives what it returns (JSON). " +
      "Call other tools in it with await tools.name(parameters): that gives the value, or throws. " +
      "console is there; files, network, timers and modules are not",
    parameters: { code: Schema.String.annotations({ description: "The body of an async function in JavaScript" }) },
    success: Schema.Struct({
      value: Schema.Unknown,
      logs: Schema.Array(CodeRuntime.Log),
      logsTruncated: Schema.Boolean
    }),
    failure: CodeRuntime.CodeError,
    timeout,
    handler: ({ code }) =>
      Effect.suspend(() => {
        const logs: Array<CodeRuntime.Log> = []
        const onLog = (log: CodeRuntime.Log) => void logs.push(log)
        const run = CodeRuntime.run({ ...limits, code: program(code), bindings: { $call: callTool }, onLog })
        return Effect.onExit(run, (exit) =>
          Exit.isSuccess(exit) || logs.length === 0
            ? Effect.void
            : Effect.flatMap(ToolContext, ({ deferContext }) => deferContext(Content.text(textOf(logs))))
        )
      })
  })

/**
 * The toolkit of it.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { CodeTools } from "quiesce/tools"
 *
 * assert.deepStrictEqual([...CodeTools.make().tools.keys()], ["run_code"])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options) => Toolkit.make(runCode(options))
