/**
 * Results, both ways: what code without Effect sees of one, and what of the core's it stands for.
 *
 * One result has one counterpart, so that whoever gets it twice gets the same object (L1), and what a wrapper passes on
 * is known again.
 */
import { isObject } from "effect/Predicate"
import type * as Content from "../../Content.js"
import type { Report, ToolFailure, ToolResult, ToolSuccess } from "../../promise/Result.js"
import * as ToolError from "../../ToolError.js"
import * as Core from "../../ToolResult.js"

const facades = new WeakMap<Core.ToolResult, ToolResult>()
const cores = new WeakMap<object, Core.ToolResult>()

/** Failures that nobody has named: they have no `info`, whatever code the report has for them. */
const unnamed: ReadonlySet<string> = new Set(["NOT_JSON", "DENIED", "TOOL_FAILURE", "POLICY_FAILURE", "BLOCKED"])

const infoOf = ({ code, name }: Core.Failure): ToolFailure["error"]["info"] =>
  unnamed.has(code) && ToolError.names[code as ToolError.Code] === name ? undefined : Object.freeze({ name, code })

const reportOf = (result: Core.ToolResult): Report =>
  Object.freeze({
    callId: result.callId,
    tool: result.tool,
    dispatched: result.dispatched,
    body: result.body,
    escaped: result.escaped,
    ...(result._tag === "Success" ? undefined : { code: result.code }),
    ...(result._tag === "Success" || result.cause === undefined ? undefined : { cause: result.cause }),
    ...(result._tag === "Success" || result.bodyFailure === undefined ? undefined : { bodyFailure: result.bodyFailure })
  })

const make = (result: Core.ToolResult): ToolResult => {
  const common = {
    content: result.content,
    ...(result.meta === undefined ? undefined : { meta: result.meta }),
    ...(result.contexts.length === 0 ? undefined : { additionalContexts: result.contexts }),
    report: reportOf(result)
  }
  if (result._tag === "Success") {
    const concludes = result.concludesTurn ? { concludesTurn: true as const } : undefined
    return { isError: false, value: result.value, ...concludes, ...common } satisfies ToolSuccess
  }
  const info = infoOf(result)
  const error = Object.freeze({ message: result.message, ...(info === undefined ? undefined : { info }) })
  return { isError: true, error, ...common } satisfies ToolFailure
}

/**
 * The result as code without Effect sees it.
 *
 * @internal
 */
export const toFacade = (result: Core.ToolResult): ToolResult => {
  let facade = facades.get(result)
  if (facade === undefined) {
    facade = Object.freeze(make(result))
    facades.set(result, facade)
    cores.set(facade, result)
  }
  return facade
}

/** What a wrapper wrote. It may be anything: what is missing or wrong is the core's to find. */
interface Authored {
  readonly isError?: unknown
  readonly value?: Core.Json
  readonly error?: { readonly message: string; readonly info?: { readonly name: string; readonly code: string } }
  readonly content?: ReadonlyArray<Content.Content>
  readonly additionalContexts?: ReadonlyArray<Content.Content>
  readonly report?: Partial<Report>
}

/**
 * The result that an answer stands for: the one that it was made from, or one that the runtime will check.
 *
 * @internal
 */
export const fromAnswer = (answer: unknown): Core.ToolResult => {
  if (!isObject(answer)) return answer as unknown as Core.ToolResult // not one: the core says so
  const known = cores.get(answer)
  if (known !== undefined) return known
  const { additionalContexts: contexts = [], content, error, isError, report, value } = answer as Authored
  if (isError === false) return Core.withContexts(Core.success(value as Core.Json), contexts)
  if (isError !== true || !isObject(error)) return answer as unknown as Core.ToolResult
  const { code = report?.code ?? "POLICY_FAILURE", name } = error.info ?? {}
  const failure = Core.failure({ code, name, message: error.message })
  return {
    ...failure,
    ...(content === undefined ? undefined : { content }),
    ...(report?.cause === undefined ? undefined : { cause: report.cause }),
    ...(report?.bodyFailure === undefined ? undefined : { bodyFailure: report.bodyFailure }),
    contexts
  }
}
