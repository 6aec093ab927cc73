/**
 * Runs code on Node, each piece in a process of its own.
 *
 * A thread would be cheaper, and does not suffice: Node cannot end one that is inside of a built-in function such as
 * `Array.prototype.includes` over a huge length, and one that asks for a single huge array takes the whole program with
 * it, whatever limits it was given (`docs/decisions/0018-code-in-a-process.md`). A process costs about 55 milliseconds
 * and 52 MiB.
 *
 * What the code finds there: the language, `console`, and its bindings. No `process`, `require`, `import`, `fetch`, timers,
 * `eval`, `new Function`, and none of the types of binary data, whose memory no limit would hold. The environment is empty,
 * and where Node has a permission model, files and processes are denied to whoever gets out of that realm.
 *
 * What it is not: a security boundary. `node:vm` is none, and neither is the permission model. Code that breaks out of
 * both has the rights of this user, and the network. The memory limit is that of the heap: the process itself comes on top.
 * The code is not kept from using the processor until its time is over, and it can read the clock.
 *
 * Needs a POSIX system, as `NodeProcess` does, and that `process.execPath` is Node.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import * as CodeRuntime from "../capability/CodeRuntime.js"
import { run } from "../internal/capability/code/run.js"
import { nodeEngine } from "../internal/node/code/codeProcess.js"

/**
 * Layer of a `CodeRuntime` that runs code in processes of its own. It holds nothing: each run ends with its caller.
 *
 * `NodeProcess.killAll` reaches these processes, too.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Cancellation } from "quiesce"
 * import { CodeRuntime } from "quiesce/capability"
 * import { NodeCodeRuntime } from "quiesce/node"
 *
 * const program = CodeRuntime.run({ code: "for (;;) {}", timeout: "200 millis" })
 * const error = await Effect.runPromise(
 *   Effect.flip(Cancellation.own(Effect.provide(program, NodeCodeRuntime.layer)))
 * )
 * assert.strictEqual(error.code, "CODE_TIMEOUT")
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<CodeRuntime.CodeRuntime> = Layer.succeed(CodeRuntime.CodeRuntime, {
  run: run(nodeEngine)
})
