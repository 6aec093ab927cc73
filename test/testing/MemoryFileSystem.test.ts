import { Error as PlatformError } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, type Scope } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { MemoryFileSystem } from "quiesce/testing"
import { type Contents, fileSystemContract, type World } from "../support/contracts/fileSystem.js"
import { fileSystemChangesContract } from "../support/contracts/fileSystemChanges.js"

const make = (contents: Contents): Effect.Effect<World, never, Scope.Scope> =>
  Effect.gen(function* () {
    const files = yield* Layer.build(MemoryFileSystem.layer({ files: contents, root: "/base/root" }))
    const memory = Context.get(files, MemoryFileSystem.MemoryFileSystem)
    const reset = (next: Contents) =>
      Effect.gen(function* () {
        for (const path of Object.keys(yield* memory.files)) yield* memory.discard(path)
        for (const [path, content] of Object.entries(next)) yield* memory.put(path, content)
      })
    return {
      files,
      look: Effect.map(memory.files, (seen) =>
        Object.fromEntries(Object.entries(seen).map(([path, content]) => [path.replace(/^\/base\//, "/"), content]))
      ),
      put: memory.put.bind(memory),
      discard: memory.discard.bind(memory),
      reset,
      openFiles: Effect.map(memory.openFiles, (open) => open.length),
      calls: memory.calls,
      running: Effect.succeed(0),
      intervene: memory.intervene.bind(memory),
      failure: (code, { method }) =>
        new PlatformError.SystemError({
          module: "FileSystem",
          method,
          reason: "Unknown",
          cause: Object.assign(new Error(code), { code })
        }),
      settle: Effect.asVoid(Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow())),
      canPut: () => true
    }
  })

describe("MemoryFileSystem", () => {
  const provide = (files: Contents) => Effect.provide(MemoryFileSystem.layer({ files }))

  it.effect("shows what there is, inside and outside of the root, as another program sees it", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryFileSystem.MemoryFileSystem
      yield* Cancellation.own(FileSystem.writeText("folder/new", "new"))
      yield* memory.put("bytes", new Uint8Array([104, 105]))
      yield* memory.put("empty", { kind: "folder" })
      yield* memory.discard("gone")
      assert.deepStrictEqual(yield* memory.files, {
        "/etc": "/",
        "/etc/passwd": "secret",
        bytes: "hi",
        empty: "/",
        folder: "/",
        "folder/new": "new",
        link: "-> folder",
        pipe: "|"
      })
    }).pipe(
      provide({
        "/etc/passwd": "secret",
        gone: "",
        link: { kind: "link", target: "folder" },
        pipe: { kind: "pipe" }
      })
    )
  )

  it.effect("holds a call, of all those that come from now on, until it is released", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryFileSystem.MemoryFileSystem
      yield* Cancellation.own(FileSystem.writeText("file", "1"))
      const second = yield* memory.hold("rename", { count: 2, when: "after" })
      yield* Cancellation.own(FileSystem.writeText("file", "2"))
      const fiber = yield* Effect.fork(Cancellation.own(FileSystem.writeText("file", "3")))
      yield* second.reached
      assert.isNull(fiber.unsafePoll())
      const { file } = yield* memory.files
      assert.strictEqual(file, "3")
      yield* second.release
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* memory.files, { file: "3" })
    }).pipe(provide({}))
  )

  it.effect("fails one call with a code of the system, and no other", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryFileSystem.MemoryFileSystem
      yield* memory.fail("sync", "EDQUOT")
      const error = yield* Effect.flip(Cancellation.own(FileSystem.writeText("file", "new")))
      assert.strictEqual(error.code, "FS_NO_SPACE")
      yield* Cancellation.own(FileSystem.writeText("file", "new"))
      assert.deepStrictEqual(yield* memory.files, { file: "new" })
    }).pipe(provide({ file: "old" }))
  )

  it.effect("dies where a real system could block: when a pipe is opened", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryFileSystem.MemoryFileSystem
      const swap = Effect.zipRight(memory.discard("file"), memory.put("file", { kind: "pipe" }))
      yield* memory.intervene(({ method, when }) => (method === "open" && when === "before" ? swap : Effect.void))
      const exit = yield* Effect.exit(Cancellation.own(FileSystem.readText("file")))
      assert.include(String(exit), "/workspace/file was opened: on a real system that could block for good")
    }).pipe(provide({ file: "text" }))
  )

  it.effect("is a new one each time that it is built", () =>
    Effect.gen(function* () {
      const layer = MemoryFileSystem.layer({ files: { file: "old" } })
      const write = Cancellation.own(FileSystem.writeText("file", "new"))
      yield* Effect.provide(write, layer)
      const read = Cancellation.own(FileSystem.readText("file"))
      assert.strictEqual(yield* Effect.provide(read, layer), "old")
    })
  )
})

fileSystemContract("the one in memory", make, { sweeps: true })
fileSystemChangesContract("the one in memory", make)
