/** Runs scenarios through `quiesce/promise`. */
import { Effect, Runtime, Schema, TestClock } from "effect"
import { CodedError, createRuntime, defineTool, type Policy } from "quiesce/promise"
import { type Driver, Observer, type Stages } from "./driver.js"

const Text = Schema.standardSchemaV1(Schema.Struct({ text: Schema.String }))
const Nothing = Schema.standardSchemaV1(Schema.Struct({}))
const AString = Schema.standardSchemaV1(Schema.String)
const ANumber = Schema.standardSchemaV1(Schema.Number)

export const facadeDriver = (effectRuntime: Runtime.Runtime<never>): Driver => ({
  kind: "facade",
  coded: (message, code) => new CodedError(message, code, { name: "HarnessError" }),
  advance: (millis) => Runtime.runPromise(effectRuntime)(Effect.zipRight(TestClock.adjust(millis), Effect.yieldNow())),
  setup: (stages: Stages = {}) => {
    const seen = new Observer()
    const { after, approve, around, before, body, guard, inner, observe } = stages
    const echo = defineTool({
      name: "echo",
      description: "Says it again",
      parameters: Text,
      output: AString,
      timeout: stages.timeout,
      render: stages.render,
      meta: stages.meta,
      finalContent: stages.finalContent,
      execute: ({ text }, context) => {
        seen.enter("body")
        if (body === undefined) return text
        return seen.during(context.callId, () => body(text, context)) as Promise<string>
      }
    })
    const count = defineTool({
      name: "count",
      description: "Counts",
      parameters: Nothing,
      output: ANumber,
      execute: async () => 3
    })
    const policies: Array<Policy> = [
      {
        name: "stages",
        before: (call) => {
          seen.enter("before")
          return before?.(call) ?? { kind: "allow" }
        },
        guard: (call) => {
          seen.enter("guard")
          return guard?.(call)
        },
        around: (call, next) => {
          seen.enter("around")
          return around === undefined ? next() : around(call, next)
        },
        after: (call, result) => {
          seen.enter("after")
          return after?.(call, result) ?? { kind: "accept" }
        },
        observe: (call, result) => {
          seen.enter("observe")
          seen.published(result)
          return observe?.(call, result)
        }
      },
      ...(inner === undefined ? [] : [{ name: "inner", ...inner }])
    ]
    const tools = stages.counts === true ? [count] : []
    const runtime = createRuntime({ tools, policies, approve, effectRuntime })
    const removeTool = runtime.addTool(echo)
    return {
      log: seen.log,
      observed: seen.observed,
      controller: seen.controller,
      call: (changes) => {
        const input = seen.inputOf(changes)
        return seen.checked(input, () => runtime.call(input))
      },
      reached: (stage) => seen.reached(stage),
      removeTool,
      cancelCall: (callId, reason) => runtime.cancelCall(callId, reason),
      dispose: () => runtime.dispose()
    }
  }
})
