/**
 * Which tools and policies a runtime has, ready to run.
 *
 * Whatever is registered brings the context that its handlers need, captured once; what a call needs is laid over it.
 */
import type * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as Policy from "../../Policy.js"
import type * as Tool from "../../Tool.js"
import { describeThrown } from "../thrown.js"
import { freezingWhatItBuilds } from "./freezing.js"

/** @internal */
export interface RegisteredTool {
  readonly tool: Tool.Any
  readonly context: Context.Context<never>
  readonly decode: (parameters: unknown) => Either.Either<unknown, ParseResult.ParseIssue>
  readonly encodeSuccess: (value: unknown) => Either.Either<unknown, ParseResult.ParseIssue>
  readonly decodeSuccess: (encoded: unknown) => Either.Either<unknown, ParseResult.ParseIssue>
}

/** @internal */
export interface Registered<P> {
  readonly policy: P
  readonly context: Context.Context<never>
  readonly agent: string | undefined
}

/**
 * The policies of one agent, by the stage that runs them.
 *
 * @internal
 */
export interface Policies {
  readonly before: ReadonlyArray<Registered<Policy.Before<never>>>
  readonly guards: ReadonlyArray<Registered<Policy.Guard>>
  readonly around: ReadonlyArray<Registered<Policy.Around<never> | Policy.Timeout>>
  readonly after: ReadonlyArray<Registered<Policy.After<never>>>
  readonly observers: ReadonlyArray<Registered<Policy.Observe<never>>>
}

type Parse = (value: unknown) => Either.Either<unknown, ParseResult.ParseIssue>

// A schema runs code of its author, and looks at values that may be hostile: what it throws is a violation.
const total =
  (parse: Parse): Parse =>
  (value) => {
    try {
      return parse(value)
    } catch (error) {
      return Either.left(new ParseResult.Type(Schema.Unknown.ast, undefined, describeThrown(error).message))
    }
  }

// Compiling a schema costs more than all the rest of a runtime, and a host may make a runtime for each session.
const decoders = new WeakMap<Schema.Schema.AnyNoContext, Parse>()

/**
 * Decodes parameters: what that builds is frozen, so that one attempt cannot change what the next one gets. The schema
 * itself says what is wrong, and has the last word: a filter of its author's may want to write.
 */
const decodeFrozen = (parameters: Schema.Schema.AnyNoContext): Parse => {
  let decode = decoders.get(parameters)
  if (decode === undefined) {
    decode = compileFrozen(parameters)
    decoders.set(parameters, decode)
  }
  return decode
}

const compileFrozen = (parameters: Schema.Schema.AnyNoContext): Parse => {
  const frozen = total(ParseResult.decodeUnknownEither(freezingWhatItBuilds(parameters)))
  const plain = total(ParseResult.decodeUnknownEither(parameters, { errors: "all" }))
  return (json) => {
    const decoded = frozen(json)
    return Either.isRight(decoded) ? decoded : plain(json)
  }
}

/** @internal */
export const registerTool = (tool: Tool.Any, context: Context.Context<never>): RegisteredTool => ({
  tool,
  context,
  decode: decodeFrozen(tool.parameters),
  encodeSuccess: total(ParseResult.encodeUnknownEither(tool.success, { errors: "all" })),
  decodeSuccess: total(ParseResult.decodeUnknownEither(tool.success, { errors: "all" }))
})

/** @internal */
export class Registry {
  readonly tools = new Map<string, RegisteredTool>()
  private registered: ReadonlyArray<Registered<Policy.Any>> = []
  private byAgent = new Map<string | undefined, Policies>()
  private readonly innermost: Registered<Policy.Timeout> | undefined

  /** `innermost` is the timeout policy that applies where none is listed. */
  constructor(innermost: Registered<Policy.Timeout> | undefined) {
    this.innermost = innermost
  }

  addTool(tool: RegisteredTool): boolean {
    if (this.tools.has(tool.tool.name)) return false
    this.tools.set(tool.tool.name, tool)
    return true
  }

  removeTool(tool: RegisteredTool): void {
    if (this.tools.get(tool.tool.name) === tool) this.tools.delete(tool.tool.name)
  }

  addPolicy(policy: Registered<Policy.Any>): void {
    this.registered = [...this.registered, policy]
    this.byAgent.clear()
  }

  removePolicy(policy: Registered<Policy.Any>): void {
    this.registered = this.registered.filter((other) => other !== policy)
    this.byAgent.clear()
  }

  policiesFor(agent: string | undefined): Policies {
    // Agents come and go: only those that have policies of their own are told apart, and remembered.
    const own = this.registered.some((entry) => entry.agent === agent) ? agent : undefined
    let policies = this.byAgent.get(own)
    if (policies === undefined) {
      policies = this.sort(own)
      this.byAgent.set(own, policies)
    }
    return policies
  }

  private sort(agent: string | undefined): Policies {
    const all = this.registered.filter((entry) => entry.agent === undefined || entry.agent === agent)
    const of = <Tag extends Policy.Any["_tag"]>(...tags: ReadonlyArray<Tag>) =>
      all.filter((entry) => tags.includes(entry.policy._tag as Tag)) as unknown as ReadonlyArray<
        Registered<Extract<Policy.Policy<never>, { readonly _tag: Tag }>>
      >
    const around = of("Around", "Timeout")
    const isBounded = around.some((entry) => entry.policy._tag === "Timeout")
    return {
      before: of("Before"),
      guards: of("Guard"),
      around: isBounded || this.innermost === undefined ? around : [...around, this.innermost],
      after: of("After"),
      observers: of("Observe")
    }
  }
}
