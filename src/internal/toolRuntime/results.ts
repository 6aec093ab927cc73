/**
 * Builds results: the texts and codes, in one place.
 *
 * Every result made here is deep-frozen, and remembered with its call, so that a wrapper that returns it is believed and
 * one that returns something of its own is checked.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as CancelCause from "../../CancelCause.js"
import * as Content from "../../Content.js"
import type * as Tool from "../../Tool.js"
import * as ToolError from "../../ToolError.js"
import * as ToolResult from "../../ToolResult.js"
import type { Specific } from "../cancellation/classify.js"
import { type Json, materialize } from "../json.js"
import { codeOfTag, describeThrown } from "../thrown.js"
import type { Attempt } from "./attemptState.js"
import type { CallState } from "./callState.js"
import { isContent } from "./frozen.js"
import type { RegisteredTool } from "./registry.js"

const none: ReadonlyArray<never> = Object.freeze([])

/** What belongs to every result of a call, whatever its outcome. */
const common = (state: CallState, attempt: Attempt | undefined) => ({
  callId: state.id,
  tool: state.name,
  contexts: attempt === undefined || attempt.contexts.length === 0 ? none : Object.freeze([...attempt.contexts]), // L12
  dispatched: state.dispatched, // L2
  body: attempt === undefined ? ("not-started" as const) : attempt.end,
  escaped: none
})

const remember = <R extends ToolResult.ToolResult>(state: CallState, attempt: Attempt | undefined, result: R): R => {
  state.made.set(result, attempt)
  return Object.freeze(result)
}

interface FailureDetails {
  readonly code: string
  readonly message: string
  readonly name?: string | undefined
  readonly content?: ReadonlyArray<Content.Content>
  readonly cause?: CancelCause.Encoded | undefined
  readonly bodyFailure?: ToolResult.Reported | undefined
}

const nameOf = (code: string): string =>
  Object.hasOwn(ToolError.names, code) ? ToolError.names[code as ToolError.Code] : "Error"

/** @internal */
export const failure = (
  state: CallState,
  details: FailureDetails,
  attempt: Attempt | undefined = state.attempt
): ToolResult.Failure =>
  remember(state, attempt, {
    _tag: "Failure",
    ...common(state, attempt),
    code: details.code,
    name: details.name ?? nameOf(details.code),
    message: details.message,
    content: details.content ?? ToolResult.errorContent(details.message),
    ...(details.cause === undefined ? undefined : { cause: details.cause }),
    ...(details.bodyFailure === undefined ? undefined : { bodyFailure: details.bodyFailure })
  })

/**
 * The result of a cancelled call: it says whether a handler was ever called (L2).
 *
 * @internal
 */
export const cancelledResult = (
  state: CallState,
  cause: CancelCause.CancelCause,
  attempt: Attempt | undefined = state.attempt
): ToolResult.Failure =>
  failure(
    state,
    {
      code: state.dispatched ? "ABORTED" : "ABORTED_BEFORE_DISPATCH",
      message: state.dispatched ? "tool call aborted" : "tool call aborted before dispatch",
      cause: CancelCause.encode(cause),
      bodyFailure: attempt?.ownFailure
    },
    attempt
  )

/**
 * The same cancelled call, of which a handler was called after all.
 *
 * @internal
 */
export const dispatchedAfterAll = (
  state: CallState,
  { cause }: ToolResult.Failure,
  attempt: Attempt | undefined
): ToolResult.Failure => failure(state, { code: "ABORTED", message: "tool call aborted", cause }, attempt)

/** @internal */
export const timedOut = (
  state: CallState,
  cause: CancelCause.CancelCause & { readonly _tag: "Deadline" },
  attempt: Attempt | undefined
): ToolResult.Failure =>
  failure(
    state,
    {
      code: "TOOL_TIMEOUT",
      message: `tool call timed out after ${cause.millis}ms`,
      cause: CancelCause.encode(cause),
      bodyFailure: attempt?.ownFailure // L7
    },
    attempt
  )

/**
 * A failure that somebody else brought: its own code, name and message where it names them, else `code`.
 *
 * The tag of a typed failure stands for a code. That of a defect does not: `Effect.dieMessage` makes defects that have
 * a tag, and nobody has typed them. A defect that carries a code of its own was given it by its author.
 *
 * @internal
 */
export const reported = (
  { error, isDefect }: Specific,
  code: "TOOL_FAILURE" | "POLICY_FAILURE"
): ToolResult.Reported => {
  const { code: carried, message, name } = describeThrown(error)
  const claimed = carried ?? (name === undefined || isDefect ? undefined : codeOfTag(name))
  if (claimed === undefined) return Object.freeze({ code, name: nameOf(code), message })
  // Our own codes say what the runtime knows, such as that nothing ran: nobody else may claim them (L2). A policy that
  // fails may say that it denies.
  const isOurs = Object.hasOwn(ToolError.names, claimed) && !(code === "POLICY_FAILURE" && claimed === "DENIED")
  return Object.freeze({ code: isOurs ? code : claimed, name: name ?? nameOf(code), message })
}

/**
 * What one of our own checks says.
 *
 * @internal
 */
export const saying = (message: string): Specific => ({ error: new Error(message), isDefect: true })

/**
 * A failing policy: final, no `after` policy is asked about it.
 *
 * @internal
 */
export const policyFailure = (state: CallState, specific: Specific): ToolResult.Failure => {
  const result = failure(state, reported(specific, "POLICY_FAILURE"))
  state.unreviewed = result
  return result
}

const violationsOf = (issue: ParseResult.ParseIssue): ReadonlyArray<string> => {
  try {
    return ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ path, message }) =>
      path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
    )
  } catch (error) {
    return [`the violation cannot be described: ${describeThrown(error).message}`] // the value threw when looked at
  }
}

const isAsync = (issue: ParseResult.ParseIssue): boolean => {
  try {
    return ParseResult.ArrayFormatter.formatIssueSync(issue).some(({ _tag }) => _tag === "Forbidden")
  } catch {
    return false // a message annotation that throws
  }
}

/** @internal */
export const invalidArguments = (state: CallState, issue: ParseResult.ParseIssue): ToolResult.Failure =>
  failure(state, {
    code: "INVALID_ARGS",
    message: isAsync(issue)
      ? `the parameters of tool "${state.name}" cannot be decoded synchronously: its schema has an asynchronous step, which a tool may not have`
      : `invalid arguments: ${violationsOf(issue).join("; ")}`
  })

const invalidOutput = (
  state: CallState,
  attempt: Attempt | undefined,
  violations: ReadonlyArray<string>
): ToolResult.Failure =>
  failure(
    state,
    { code: "INVALID_TOOL_OUTPUT", message: `tool "${state.name}" returned invalid output: ${violations.join("; ")}` },
    attempt
  )

/** Calls a function of the tool's author, and says what it broke. */
const authored = (what: string, f: () => unknown): Either.Either<Json, string> => {
  let value: unknown
  try {
    value = f()
  } catch (error) {
    return Either.left(`${what} failed: ${describeThrown(error).message}`)
  }
  return Either.mapLeft(materialize(value), (problem) =>
    problem._tag === "Threw"
      ? `${what} failed: ${describeThrown(problem.error).message}`
      : `${what} returned non-lossless JSON`
  )
}

/** What the model is shown of a success, or what is wrong with it. */
const contentOf = (tool: Tool.Any, value: unknown, encoded: Json): ReadonlyArray<Content.Content> | string => {
  const { render } = tool
  if (render === undefined) return textContent(typeof encoded === "string" ? encoded : JSON.stringify(encoded))
  const rendered = authored("output.render", () => render(value))
  if (Either.isLeft(rendered)) return rendered.left
  if (typeof rendered.right === "string") return textContent(rendered.right)
  return isContent(rendered.right) ? rendered.right : "output.render returned something that is not content"
}

const textContent = (text: string): ReadonlyArray<Content.Content> => Object.freeze([Content.text(text)])

/**
 * A success: its value encoded by the tool's schema, its content rendered by the tool.
 *
 * @internal
 */
export const success = (
  state: CallState,
  registered: RegisteredTool,
  value: unknown,
  attempt: Attempt | undefined
): ToolResult.ToolResult => {
  const { tool } = registered
  const encoded = registered.encodeSuccess(value)
  if (Either.isLeft(encoded)) return invalidOutput(state, attempt, violationsOf(encoded.left))
  const json = materialize(encoded.right)
  if (Either.isLeft(json)) {
    const problem = json.left
    return invalidOutput(state, attempt, [
      problem._tag === "Threw"
        ? `value snapshot failed: ${describeThrown(problem.error).message}`
        : `value is not lossless JSON (${problem.path} is ${problem.found})`
    ])
  }
  const content = contentOf(tool, value, json.right)
  if (typeof content === "string") return invalidOutput(state, attempt, [content])
  const meta = state.rootId === state.id ? tool.meta : undefined // people are shown the call of the model, not its parts
  const presented = meta === undefined ? undefined : authored("output.presentationMeta", () => meta(value))
  if (presented !== undefined && Either.isLeft(presented)) return invalidOutput(state, attempt, [presented.left])
  return remember(state, attempt, {
    _tag: "Success",
    ...common(state, attempt),
    value: json.right,
    content,
    concludesTurn: attempt?.concludes ?? false,
    ...(presented === undefined ? undefined : { meta: presented.right })
  })
}

/**
 * A success whose encoded value a policy brings: it must be one that the tool could have returned.
 *
 * @internal
 */
export const successFromEncoded = (
  state: CallState,
  encoded: unknown,
  attempt: Attempt | undefined
): ToolResult.ToolResult => {
  const registered = state.tool
  if (registered === undefined || state.runtime.registry.tools.get(state.name) !== registered) return unknownTool(state)
  const json = materialize(encoded)
  if (Either.isLeft(json)) return invalidOutput(state, attempt, ["value is not lossless JSON"])
  const decoded = registered.decodeSuccess(json.right)
  return Either.isLeft(decoded)
    ? invalidOutput(state, attempt, violationsOf(decoded.left))
    : success(state, registered, decoded.right, attempt)
}

/** @internal */
export const unknownTool = (state: CallState): ToolResult.Failure =>
  failure(state, { code: "UNKNOWN_TOOL", message: `unknown tool "${state.name}"` })
