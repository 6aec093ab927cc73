import type { Effect, Layer, Scope, Stream } from "effect"
import type { Cancellation } from "quiesce"
import type * as Http from "quiesce/capability/Http"
import type * as NodeHttp from "quiesce/node/NodeHttp"
import type * as ScriptedHttp from "quiesce/testing/ScriptedHttp"
import { describe, expect, it } from "tstyche"

type Operation = keyof Http.Service

type Requirements<F> = F extends (...args: Array<any>) => infer T
  ? T extends Effect.Effect<any, any, infer R> | Stream.Stream<any, any, infer R>
    ? R
    : never
  : never
type Failure<F> = F extends (...args: Array<any>) => infer T
  ? T extends Effect.Effect<any, infer E, any> | Stream.Stream<any, infer E, any>
    ? E
    : never
  : never

// Over the keys of the service, so that a new operation cannot be forgotten.
describe("Http", () => {
  it("each operation needs an owner, and one that keeps a connection a scope", () => {
    expect<{ readonly [K in Operation]: Exclude<Requirements<Http.Service[K]>, Scope.Scope> }>().type.toBe<{
      readonly [K in Operation]: Cancellation.Cancellation
    }>()
    expect<Requirements<Http.Service["request"]>>().type.toBe<Cancellation.Cancellation | Scope.Scope>()
  })

  it("no operation has cancellation among its failures", () => {
    expect<{ readonly [K in Operation]: Failure<Http.Service[K]> }>().type.toBe<{
      readonly [K in Operation]: Http.HttpError
    }>()
    expect<Extract<Http.Reason, `${string}${"Cancel" | "Abort" | "Interrupted"}${string}`>>().type.toBe<never>()
  })

  it("each operation has an accessor of its name, which takes and gives the same", () => {
    type Accessors = Pick<typeof Http, Operation>
    expect<{ readonly [K in Operation]: Exclude<Requirements<Accessors[K]>, Http.Http> }>().type.toBe<{
      readonly [K in Operation]: Requirements<Http.Service[K]>
    }>()
    expect<{ readonly [K in Operation]: Parameters<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: Parameters<Http.Service[K]>
    }>()
    expect<{ readonly [K in Operation]: Failure<Accessors[K]> }>().type.toBe<{
      readonly [K in Operation]: Failure<Http.Service[K]>
    }>()
  })

  it("so does what is read of a response", () => {
    expect<Http.Response["text"]>().type.toBe<Effect.Effect<string, Http.HttpError, Cancellation.Cancellation>>()
    expect<Http.Response["body"]>().type.toBe<Stream.Stream<Uint8Array, Http.HttpError, Cancellation.Cancellation>>()
    expect<Http.Response["drop"]>().type.toBe<Effect.Effect<void, never, Cancellation.Cancellation>>()
  })

  it("is provided without requirements", () => {
    expect<ReturnType<typeof NodeHttp.layer>>().type.toBe<Layer.Layer<Http.Http>>()
    expect<ScriptedHttp.Handle["layer"]>().type.toBe<Layer.Layer<Http.Http>>()
  })
})
