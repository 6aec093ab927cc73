import { Schema } from "effect"
import {
  type AroundView,
  type BodyContext,
  type CallInput,
  type CallView,
  createRuntime,
  defineTool,
  type InferInput,
  type InferOutput,
  type Policy,
  type Runtime,
  type Tool,
  type ToolFailure,
  type ToolResult,
  type ToolSuccess
} from "quiesce/promise"
import { describe, expect, it } from "tstyche"
import * as z from "zod"

declare const input: CallInput
declare const view: CallView
declare const around: AroundView
declare const context: BodyContext
declare const runtime: Runtime
declare const signal: AbortSignal
declare const maybe: AbortSignal | undefined

describe("quiesce/promise", () => {
  it("10: a call without a signal does not compile, nor one that may have none", () => {
    expect(runtime.call).type.toBeCallableWith({ callId: "c1", name: "x", arguments: {}, signal })
    expect(runtime.call).type.not.toBeCallableWith({ callId: "c1", name: "x", arguments: {} })
    expect(runtime.call).type.not.toBeCallableWith({ callId: "c1", name: "x", arguments: {}, signal: maybe })
    expect(runtime.batch).type.not.toBeCallableWith({ calls: [] })
  })

  it("10: the signal of every stage is exactly AbortSignal", () => {
    expect<CallInput["signal"]>().type.toBe<AbortSignal>()
    expect<CallView["signal"]>().type.toBe<AbortSignal>()
    expect<AroundView["signal"]>().type.toBe<AbortSignal>()
    expect<BodyContext["signal"]>().type.toBe<AbortSignal>()
  })

  it("10: it is readonly in the input, in policies and observers, and in the body", () => {
    // @ts-expect-error Cannot assign to 'signal' because it is a read-only property
    input.signal = signal
    // @ts-expect-error Cannot assign to 'signal' because it is a read-only property
    view.signal = signal
    // @ts-expect-error Cannot assign to 'signal' because it is a read-only property
    context.signal = signal
    // @ts-expect-error The operand of a 'delete' operator cannot be a read-only property
    delete view.signal
    // @ts-expect-error The operand of a 'delete' operator cannot be a read-only property
    delete context.signal
  })

  it("10: an around policy may replace it, and not remove it", () => {
    around.signal = signal
    // @ts-expect-error Type 'undefined' is not assignable to type 'AbortSignal'
    around.signal = undefined
    // @ts-expect-error is not assignable to type 'AbortSignal'
    around.signal = maybe
    // @ts-expect-error The operand of a 'delete' operator must be optional
    delete around.signal
    // @ts-expect-error Cannot assign to 'name' because it is a read-only property
    around.name = "other"
  })

  it("each function of a policy gets the view of its stage", () => {
    expect<Parameters<NonNullable<Policy["before"]>>[0]>().type.toBe<CallView>()
    expect<Parameters<NonNullable<Policy["guard"]>>[0]>().type.toBe<CallView>()
    expect<Parameters<NonNullable<Policy["around"]>>[0]>().type.toBe<AroundView>()
    expect<Parameters<NonNullable<Policy["after"]>>[0]>().type.toBe<CallView>()
    expect<Parameters<NonNullable<Policy["observe"]>>[0]>().type.toBe<CallView>()
  })

  it("a body gets what its schema gives, and returns what its output schema takes", () => {
    const parameters = z.object({ n: z.coerce.number(), more: z.string().optional() })
    const tool = defineTool({
      name: "tool",
      description: "",
      parameters,
      output: z.string().transform((text) => text.length),
      render: (value) => {
        expect(value).type.toBe<number>()
        return ""
      },
      execute: (given, context) => {
        expect(given).type.toBe<{ n: number; more?: string | undefined }>()
        expect(context).type.toBe<BodyContext>()
        return Promise.resolve("text")
      }
    })
    expect(tool).type.toBe<Tool<"tool">>()
    expect<InferOutput<typeof parameters>["n"]>().type.toBe<number>()
  })

  it("effect's schemas, and those of zod, say the same of themselves", () => {
    const ofEffect = Schema.standardSchemaV1(Schema.Struct({ n: Schema.NumberFromString }))
    expect<InferInput<typeof ofEffect>>().type.toBe<{ readonly n: string }>()
    expect<InferOutput<typeof ofEffect>>().type.toBe<{ readonly n: number }>()
  })

  it("a body that returns something else does not compile; a generator returns its value", () => {
    const options = { name: "tool", description: "", parameters: z.object({}), output: z.number() }
    expect(defineTool).type.not.toBeCallableWith({ ...options, execute: () => "text" })
    expect(defineTool).type.toBeCallableWith({ ...options, execute: async () => 1 })
    defineTool({
      ...options,
      async *execute() {
        yield "half"
        return 1
      }
    })
  })

  it("a result is told by isError", () => {
    const result = {} as ToolResult
    if (result.isError) expect(result).type.toBe<ToolFailure>()
    else expect(result).type.toBe<ToolSuccess>()
    // @ts-expect-error is a read-only property
    result.isError = false
  })

  it("what is no tool is refused", () => {
    expect(createRuntime).type.not.toBeCallableWith({ tools: ["echo"] })
  })
})
