/**
 * What a plan is, and what is wrong with one that is not.
 *
 * A plan is data from a person: everything that can be said of it is said before the first call runs, with the place in
 * the file and what was expected there.
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { maxTimerMillis } from "../internal/timer.js"
import type * as Tool from "../Tool.js"
import type * as Toolkit from "../Toolkit.js"
import { BadInput } from "./badInput.js"

const text = (what: string, pattern: RegExp) =>
  Schema.String.pipe(Schema.pattern(pattern)).annotations({
    message: () => ({ message: `expected ${what}`, override: true })
  })

// It is put into the environment of commands.
const callId = text("a name of 1 to 64 letters, digits, _ - . and :", /^[\w.:-]{1,64}$/)
// Shown on a terminal, for which control characters are commands.
const toolName = text("the name of a tool", /^\P{Cc}{1,64}$/u)
const reason = text("the reason for the denial", /\S/)
const question = text("why somebody is to be asked", /\S/)
const said = text("what the model says", /\S/)

const millis = (from: number) =>
  Schema.Number.pipe(Schema.int(), Schema.between(from, maxTimerMillis)).annotations({
    message: () => ({
      message: `expected a whole number of milliseconds from ${from} to ${maxTimerMillis}`,
      override: true
    })
  })

/** Where a plan can cancel a call: places at which the call can be held until the cancel has been delivered. */
export const CancelPhase = Schema.Literal("before", "gated", "dispatching", "settled", "reviewed", "after")

/** Where a plan can cancel a call. */
export type CancelPhase = typeof CancelPhase.Type

const phases = CancelPhase.literals.map((phase) => `"${phase}"`).join(", ")

const Cancel = Schema.Union(
  Schema.Struct({ phase: CancelPhase }),
  Schema.Struct({ afterMillis: millis(0) })
).annotations({
  message: () => ({
    message: `expected { "afterMillis": a whole number } or { "phase": one of ${phases} }`,
    override: true
  })
})

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const required = <A, I>(schema: Schema.Schema<A, I>, what: string) =>
  Schema.propertySignature(schema).annotations({ missingMessage: () => `is missing: expected ${what}` })

const PlannedCall = Schema.Struct({
  id: optional(callId),
  tool: required(toolName, "the name of a tool"),
  parameters: required(Schema.Unknown, "the parameters of the tool"),
  cancel: optional(Cancel),
  deny: optional(reason),
  ask: optional(question),
  timeoutMillis: optional(millis(1)),
  expect: optional(Schema.Literal("UNKNOWN_TOOL", "INVALID_ARGS"))
}).annotations({ description: `{ "tool": ..., "parameters": ... }` })

const listOf = <A, I>(item: Schema.Schema<A, I>, what: string) => {
  const expected = `a list of at least one ${what}`
  const list = Schema.Array(item).annotations({ description: expected })
  return list.pipe(Schema.minItems(1, { message: () => `expected ${expected}` }))
}

const Calls = listOf(PlannedCall, "call")

const Step = Schema.Struct({ text: optional(said), calls: optional(Calls) }).annotations({
  description: `{ "calls": [...] }`
})

const Written = Schema.Struct({
  steps: required(listOf(Step, "step"), "a list of at least one step")
}).annotations({ description: `{ "steps": [...] }` })

/** A call as it is written. */
export type WrittenCall = typeof PlannedCall.Encoded

/** One call of a plan, ready to run. */
export interface Call extends Schema.Schema.Type<typeof PlannedCall> {
  readonly id: string
}

/** What the model says in one answer, and which calls it makes. Without a call its turn ends. */
export interface Step {
  readonly text: string | undefined
  readonly calls: ReadonlyArray<Call>
}

/** A plan that can run: every call has an id of its own. */
export interface Plan {
  readonly steps: ReadonlyArray<Step>
}

type Path = ReadonlyArray<PropertyKey>

const placeOf = (path: Path): string =>
  path.reduce<string>((place, key) => {
    if (typeof key === "number") return `${place}[${key}]`
    return /^[A-Za-z_]\w*$/.test(String(key)) ? `${place}.${String(key)}` : `${place}[${JSON.stringify(String(key))}]`
  }, "$")

// "Expected string, actual 3" goes on in the sentence that the place began.
const lowerFirst = (message: string): string => message.slice(0, 1).toLowerCase() + message.slice(1)

const maxMessage = 400

const shorten = (message: string): string =>
  message.length <= maxMessage ? message : `${message.slice(0, maxMessage)} ...`

const problemsIn = (issue: ParseResult.ParseIssue, under: Path): ReadonlyArray<string> =>
  ParseResult.ArrayFormatter.formatIssueSync(issue).map(
    ({ message, path }) => `${placeOf([...under, ...path])}: ${shorten(lowerFirst(message))}`
  )

const expectedBy = (tool: Tool.Any): string =>
  Schema.format(Schema.encodedSchema(tool.parameters)).replaceAll("readonly ", "")

const strictly = { errors: "all", onExcessProperty: "error", exact: true } as const

const decode = ParseResult.decodeUnknownEither(Written, strictly)

/** What is wrong with one call, given the tools that there are. */
const problemsOf = (call: Call, path: Path, toolkit: Toolkit.Any): ReadonlyArray<string> => {
  const tool = toolkit.tools.get(call.tool)
  if (call.expect === "UNKNOWN_TOOL") {
    return tool === undefined
      ? []
      : [`${placeOf([...path, "expect"])}: "${call.tool}" is a tool: expected a name that no tool has, or no "expect"`]
  }
  if (tool === undefined) {
    const known = [...toolkit.tools.keys()].join(", ")
    return [
      `${placeOf([...path, "tool"])}: there is no tool "${call.tool}": expected one of ${known} (or "expect": "UNKNOWN_TOOL" beside it, to run the call all the same)`
    ]
  }
  // The runtime itself is not that strict; here a name that the tool does not know is a slip of the pen.
  const decoded = ParseResult.decodeUnknownEither(tool.parameters, strictly)(call.parameters)
  if (call.expect === "INVALID_ARGS") {
    return Either.isLeft(ParseResult.decodeUnknownEither(tool.parameters)(call.parameters))
      ? []
      : [`${placeOf([...path, "expect"])}: the parameters are valid: expected some that are not, or no "expect"`]
  }
  return Either.isLeft(decoded)
    ? problemsIn(decoded.left, [...path, "parameters"]).map(
        (problem) => `${problem} (the parameters of ${tool.name} are ${expectedBy(tool)})`
      )
    : []
}

/** Gives each call that has no id one of its own. */
const withIds = (written: typeof Written.Type): Plan => {
  const taken = new Set(written.steps.flatMap(({ calls = [] }) => calls.flatMap(({ id }) => id ?? [])))
  let count = 0
  const fresh = (): string => {
    do count++
    while (taken.has(`call_${count}`))
    return `call_${count}`
  }
  return {
    steps: written.steps.map(({ calls = [], text }) => ({
      text,
      calls: calls.map((call) => ({ ...call, id: call.id ?? fresh() }))
    }))
  }
}

/** Checks a value that should be a plan. `file` is named in the messages. */
export const check = (value: unknown, file: string, toolkit: Toolkit.Any): Either.Either<Plan, BadInput> => {
  const bad = ([first, ...rest]: ReadonlyArray<string>): BadInput =>
    new BadInput({ messages: [`${file}: ${first}`, ...rest.map((problem) => `${file}: ${problem}`)] })
  const decoded = decode(value)
  if (Either.isLeft(decoded)) return Either.left(bad(problemsIn(decoded.left, [])))
  const plan = withIds(decoded.right)
  const places = new Map<string, string>()
  const problems: Array<string> = []
  for (const [i, step] of plan.steps.entries()) {
    if (step.text === undefined && step.calls.length === 0) {
      problems.push(`${placeOf(["steps", i])}: expected "calls", "text" or both in a step`)
    }
    for (const [j, call] of step.calls.entries()) {
      const path = ["steps", i, "calls", j]
      const first = places.get(call.id)
      if (first === undefined) places.set(call.id, placeOf(path))
      else problems.push(`${placeOf([...path, "id"])}: "${call.id}" is the id of ${first}: expected one of its own`)
      problems.push(...problemsOf(call, path, toolkit))
    }
  }
  return problems.length === 0 ? Either.right(plan) : Either.left(bad(problems))
}
