import { Error as PlatformError } from "@effect/platform"
import { Context, Effect, Layer, type Scope } from "effect"
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

fileSystemContract("the one in memory", make, { sweeps: true })
fileSystemChangesContract("the one in memory", make)
