import { Context, Effect, type Layer, Schema, type Scope } from "effect"
import { Cancellation, Policy, Tool, ToolContext, type ToolError, Toolkit, type ToolResult, ToolRuntime } from "quiesce"
import { describe, expect, it } from "tstyche"

class Database extends Context.Tag("quiesce/test/types/ToolRuntime.tst/Database")<Database, string>() {}
class Audit extends Context.Tag("quiesce/test/types/ToolRuntime.tst/Audit")<Audit, string>() {}

const Query = Tool.make("query", {
  description: "Queries",
  parameters: { sql: Schema.String },
  success: Schema.String,
  handler: ({ sql }) =>
    Effect.gen(function* () {
      yield* ToolContext.progress("querying")
      yield* Cancellation.operation(Effect.void, "query")
      return `${yield* Database}: ${sql}`
    })
})

const Nested = Tool.make("nested", {
  description: "Calls another tool",
  parameters: {},
  success: Schema.String,
  handler: () =>
    Effect.map(
      ToolRuntime.execute({ id: "c2", name: "query", parameters: { sql: "select 1" } }),
      (result) => result._tag
    )
})

const audit = Policy.observe("audit", () => Effect.asVoid(Audit))
const bounded = Policy.around("bounded", (_call, next) => Cancellation.withDeadline(next, { duration: "1 second" }))

describe("ToolRuntime", () => {
  it("a handler's requirements are collected", () => {
    expect<Tool.Requirements<typeof Query>>().type.toBe<
      Database | Cancellation.Cancellation | ToolContext.ToolContext
    >()
    expect<Tool.Requirements<typeof Nested>>().type.toBe<ToolRuntime.ToolRuntime | Cancellation.Cancellation>()
  })

  it("a layer needs what handlers and policies need, less what the runtime provides", () => {
    expect(ToolRuntime.layer()).type.toBe<Layer.Layer<ToolRuntime.ToolRuntime>>()
    expect(ToolRuntime.layer({ toolkit: Toolkit.make(Query, Nested) })).type.toBe<
      Layer.Layer<ToolRuntime.ToolRuntime, never, Database>
    >()
    expect(ToolRuntime.layer({ toolkit: Toolkit.make(Query), policies: [audit, bounded, Policy.timeout] })).type.toBe<
      Layer.Layer<ToolRuntime.ToolRuntime, never, Database | Audit>
    >()
  })

  it("register needs a scope and what the handler needs", () => {
    const register = Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) => runtime.register(Query))
    expect(register).type.toBe<
      Effect.Effect<void, ToolError.DuplicateTool, ToolRuntime.ToolRuntime | Scope.Scope | Database>
    >()
    const nested = Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) => runtime.register(Nested))
    expect(nested).type.toBe<Effect.Effect<void, ToolError.DuplicateTool, ToolRuntime.ToolRuntime | Scope.Scope>>()
  })

  it("registerPolicy needs a scope and what the policy needs", () => {
    const register = Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) => runtime.registerPolicy(audit))
    expect(register).type.toBe<Effect.Effect<void, never, ToolRuntime.ToolRuntime | Scope.Scope | Audit>>()
  })

  it("execute and start have no error channel and need an owner", () => {
    const call = { id: "c1", name: "query", parameters: {} }
    expect(ToolRuntime.execute(call)).type.toBe<
      Effect.Effect<ToolResult.ToolResult, never, ToolRuntime.ToolRuntime | Cancellation.Cancellation>
    >()
    expect(ToolRuntime.start(call)).type.toBe<
      Effect.Effect<ToolRuntime.RunningCall, never, ToolRuntime.ToolRuntime | Cancellation.Cancellation>
    >()
  })

  it("a started call can be cancelled without an owner, but only with a cause", () => {
    const running = {} as ToolRuntime.RunningCall
    expect(running.cancel).type.not.toBeCallableWith()
    expect(running.result).type.toBe<Effect.Effect<ToolResult.ToolResult>>()
  })

  it("a call takes no signal: its owner is in the requirements", () => {
    expect(ToolRuntime.execute).type.not.toBeCallableWith({
      id: "c1",
      name: "query",
      parameters: {},
      signal: new AbortController().signal
    })
  })
})

describe("Tool", () => {
  it("keeps the name as a literal", () => {
    expect(Query.name).type.toBe<"query">()
  })

  it("types the parameters of the handler from fields and from a whole schema", () => {
    expect<Tool.Parameters<typeof Query>>().type.toBe<{ readonly sql: string }>()
    const Whole = Tool.make("whole", {
      description: "",
      parameters: Schema.Union(Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.Number })),
      success: Schema.Null,
      handler: (parameters) => {
        expect(parameters).type.toBe<{ readonly a: string } | { readonly b: number }>()
        return Effect.succeed(null)
      }
    })
    expect(Whole.name).type.toBe<"whole">()
  })

  it("rejects a handler whose success or failure is not the declared one", () => {
    expect(Tool.make).type.not.toBeCallableWith("bad", {
      description: "",
      parameters: {},
      success: Schema.Number,
      handler: () => Effect.succeed("text")
    })
    expect(Tool.make).type.not.toBeCallableWith("bad", {
      description: "",
      parameters: {},
      success: Schema.Number,
      handler: () => Effect.fail("undeclared")
    })
  })

  it("rejects parameters that need a service to be decoded (W31)", () => {
    const needy = Schema.String as Schema.Schema<string, string, Database>
    expect(Tool.make).type.not.toBeCallableWith("bad", {
      description: "",
      parameters: { needy },
      success: Schema.Null,
      handler: () => Effect.succeed(null)
    })
  })
})

describe("Policy", () => {
  it("a guard is synchronous", () => {
    expect(Policy.guard).type.not.toBeCallableWith("bad", () => Effect.succeed("no"))
  })

  it("a call is readonly to policies, and next needs an owner", () => {
    expect<Policy.Next>().type.toBe<Effect.Effect<ToolResult.ToolResult, never, Cancellation.Cancellation>>()
    expect<Policy.Requirements<typeof bounded>>().type.toBe<never>()
  })
})
