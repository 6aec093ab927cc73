import { assert } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { type Model, OpenAiModel } from "quiesce/capability"
import { NodeHttp } from "quiesce/node"
import { Leaks } from "quiesce/testing"
import { modelContract, type World } from "../support/contracts/model.js"
import { delta, frame, modelServer, sse } from "../support/modelServer.js"

const frameOf = (chunk: Model.Chunk): string => {
  switch (chunk._tag) {
    case "Text":
      return delta({ content: chunk.text })
    case "Reasoning":
      return delta({ reasoning_content: chunk.text })
    case "ToolCallStart":
      return delta({
        tool_calls: [{ index: 0, id: chunk.id, type: "function", function: { name: chunk.name, arguments: "" } }]
      })
    case "ToolCallArguments":
      return delta({ tool_calls: [{ index: 0, function: { arguments: chunk.text } }] })
    case "Usage":
      return frame({ choices: [], usage: { prompt_tokens: chunk.inputTokens, completion_tokens: chunk.outputTokens } })
    case "Finish":
      return `${delta({}, "tool_calls")}${frame("[DONE]")}`
  }
}

/** Sockets of this process that lead to a server; those of the server itself are not among them. */
const clientSockets = Effect.map(Leaks.resources, (resources) => resources.get("TCPSocketWrap") ?? 0)

const makeWorld = (answer: ReadonlyArray<Model.Chunk>): Effect.Effect<World, never, Scope.Scope> =>
  Effect.gen(function* () {
    let sent = 0
    let allowed = 0
    const send = () => {
      for (const { response } of server.requests) {
        for (; sent < allowed; sent++) response.write(frameOf(answer[sent] as Model.Chunk))
      }
    }
    const server = yield* modelServer(({ response }) => {
      sse(response).flushHeaders()
      send()
    })
    const provider = OpenAiModel.layer({ baseUrl: server.baseUrl })
    return {
      model: yield* Layer.build(Layer.provide(provider, NodeHttp.layer({ allowPrivate: ["127.0.0.1"] }))),
      requests: Effect.sync(() => server.requests.length),
      awaitRequest: server.awaitRequest,
      sendUpTo: (index) =>
        Effect.sync(() => {
          allowed = index
          send()
        }),
      closed: Effect.map(server.closed, () => assert.strictEqual(server.sockets.size, 0)),
      // Of the sockets of this process one end is the server's, which learns of the close a little later.
      open: Effect.map(clientSockets, (sockets) => sockets - server.sockets.size)
    }
  })

modelContract("OpenAI over HTTP", makeWorld)
