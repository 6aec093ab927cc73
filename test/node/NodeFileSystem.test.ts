import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { NodeFileSystem } from "quiesce/node"
import { makeFolder } from "../support/folder.js"
import { tree } from "../support/observedPlatform.js"

// What holds for every FileSystem is in NodeFileSystem.contract.test.ts, what other programs do at the same time in
// NodeFileSystem.race.test.ts.

const run = <A, E>(
  self: Effect.Effect<A, E, FileSystem.FileSystem | Cancellation.Cancellation>,
  root?: string
): Effect.Effect<A, E> => self.pipe(Cancellation.own, Effect.provide(NodeFileSystem.layer({ root })))

describe("NodeFileSystem", () => {
  it.scoped("needs no platform but Node, and works in its root", () =>
    Effect.gen(function* () {
      const root = yield* makeFolder
      const version = yield* run(FileSystem.writeText("a/b/file", "text"), root)
      assert.deepStrictEqual(yield* run(FileSystem.readVersioned("a/b/file"), root), { text: "text", version })
      yield* run(FileSystem.copy("a", "copy", { recursive: true }), root)
      assert.strictEqual(yield* run(FileSystem.remove("a", { recursive: true }), root), 3)
      assert.deepStrictEqual(tree(root), ["copy", "copy/b", "copy/b/file"])
      assert.strictEqual((yield* Effect.flip(run(FileSystem.readText("../file"), root))).code, "FS_OUTSIDE_ROOT")
    })
  )

  it.scoped("without a root works from the working directory, up to the root of the host", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      const file = path.join(folder, "file")
      yield* run(FileSystem.writeText(file, "text"))
      assert.strictEqual(yield* run(FileSystem.readText(path.relative(process.cwd(), file))), "text")
      for (const looked of [yield* run(FileSystem.stat("/")), yield* run(FileSystem.lstat("/"))]) {
        assert.strictEqual(looked.kind, "directory")
      }
      assert.includeMembers(
        (yield* run(FileSystem.list("/"))).map(({ name }) => name),
        ["tmp"]
      )
      assert.strictEqual((yield* Effect.flip(run(FileSystem.readText("/")))).code, "FS_IS_DIRECTORY")
    })
  )

  it.scoped("keeps names and modes as they are, whatever they look like", () =>
    Effect.gen(function* () {
      const root = yield* makeFolder
      for (const name of ["gone (deleted)", "line\nbreak", "ünï", "a b/c d"]) {
        yield* run(FileSystem.writeText(name, name), root)
        fs.chmodSync(path.join(root, name), 0o640)
        yield* run(FileSystem.editText(name, [{ find: name, replace: "edited" }]), root)
        assert.strictEqual(yield* run(FileSystem.readText(name), root), "edited")
        assert.strictEqual(fs.statSync(path.join(root, name)).mode & 0o777, 0o640)
      }
      const modified = fs.statSync(path.join(root, "ünï")).mtime
      assert.strictEqual((yield* run(FileSystem.stat("ünï"), root)).modifiedMillis, modified.getTime())
    })
  )

  it.scoped.skipIf(process.platform !== "linux")("reads what is open without a path as what it is: nothing there", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(run(FileSystem.readText("/proc/self/fd/0/nothing")))
      assert.include(["FS_NOT_FOUND", "FS_NOT_A_DIRECTORY"], error.code)
      assert.include(yield* run(FileSystem.readText("/proc/self/status")), "Pid:")
    })
  )
})
