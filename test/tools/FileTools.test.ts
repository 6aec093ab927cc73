import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Cancellation, type ToolResult, ToolRuntime } from "quiesce"
import { NodeFileSystem } from "quiesce/node"
import { FileTools } from "quiesce/tools"

interface Workspace {
  readonly root: string
  readonly call: (name: string, parameters: unknown) => Effect.Effect<ToolResult.ToolResult>
}

/** The tools in a folder of their own. */
const inWorkspace = <A>(use: (workspace: Workspace) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-tools-"))),
    (root) => {
      const files = NodeFileSystem.layer({ root })
      const runtime = Layer.provide(ToolRuntime.layer({ toolkit: FileTools.make() }), files)
      return Effect.flatMap(ToolRuntime.ToolRuntime, (runtime) =>
        use({
          root,
          call: (name, parameters) => Cancellation.own(runtime.execute({ id: "c1", name, parameters }))
        })
      ).pipe(Effect.provide(runtime))
    },
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
  )

const value = (result: ToolResult.ToolResult): any =>
  result._tag === "Success" ? result.value : assert.fail(`${result.code}: ${result.message}`)

const code = (result: ToolResult.ToolResult): string => (result._tag === "Success" ? "OK" : result.code)

describe("FileTools", () => {
  it.live("a file is written, read, edited and listed", () =>
    inWorkspace(({ call, root }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(value(yield* call("write_file", { path: "a/note.txt", text: "one two\n" })), {
          path: "a/note.txt"
        })
        const edits = [
          { find: "two", replace: "three" },
          { find: "one", replace: "two" }
        ]
        assert.deepStrictEqual(value(yield* call("edit_file", { path: "a/note.txt", edits })), {
          path: "a/note.txt",
          edits: 2
        })
        assert.strictEqual(value(yield* call("read_file", { path: "a/note.txt" })), "two three\n")
        assert.deepStrictEqual(value(yield* call("list_files", {})), [{ name: "a", kind: "directory" }])
        assert.deepStrictEqual(fs.readdirSync(path.join(root, "a")), ["note.txt"])
      })
    )
  )

  it.live("what cannot be is a failure that a model can act on", () =>
    inWorkspace(({ call }) =>
      Effect.gen(function* () {
        yield* call("write_file", { path: "note.txt", text: "one one\n" })
        const edit = (find: string) => call("edit_file", { path: "note.txt", edits: [{ find, replace: "two" }] })
        assert.strictEqual(code(yield* edit("three")), "FS_TEXT_NOT_FOUND")
        assert.strictEqual(code(yield* edit("one")), "FS_TEXT_AMBIGUOUS")
        assert.strictEqual(code(yield* call("edit_file", { path: "note.txt", edits: [] })), "INVALID_ARGS")
        assert.strictEqual(code(yield* call("read_file", { path: "../note.txt" })), "FS_OUTSIDE_ROOT")
        assert.strictEqual(code(yield* call("search_files", { text: "one", path: "nowhere" })), "FS_NOT_FOUND")
        assert.strictEqual(value(yield* call("read_file", { path: "note.txt" })), "one one\n")
      })
    )
  )

  it.live("a text is found below a folder, in text files, with the line that it stands in", () =>
    inWorkspace(({ call, root }) =>
      Effect.gen(function* () {
        const write = (name: string, data: string | Uint8Array) => {
          fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
          fs.writeFileSync(path.join(root, name), data)
        }
        write("a.ts", "nothing\nThe needle (here)\n")
        write("src/b.ts", "needle\nneedle\n")
        write("src/c.md", "needle")
        write("src/binary", new Uint8Array([0xff, 0xfe, 0x00]))
        write(".git/config", "needle")
        write("node_modules/x.ts", "needle")
        const search = (query: object) => Effect.map(call("search_files", query), value)
        const all = yield* search({ text: "needle" })
        assert.deepStrictEqual(
          all.matches.map(({ line, path }: any) => `${path}:${line}`),
          ["a.ts:2", "src/b.ts:1", "src/b.ts:2", "src/c.md:1"]
        )
        assert.isFalse(all.isTruncated)
        assert.lengthOf((yield* search({ text: "needle", files: "**/*.ts" })).matches, 3)
        assert.lengthOf((yield* search({ text: "needle", path: "src/" })).matches, 3)
        assert.deepStrictEqual((yield* search({ text: "NEEDLE (", ignoreCase: true })).matches, [
          { path: "a.ts", line: 2, text: "The needle (here)" }
        ])
        write("many.txt", "needle\n".repeat(300))
        const many = yield* search({ text: "needle", files: "many.txt" })
        assert.deepStrictEqual([many.matches.length, many.isTruncated], [200, true])
        // What takes the host's own search a minute for each line.
        const half = "a".repeat(65_536)
        write("many.txt", "a".repeat(1024 * 1024 - 1))
        const before = performance.now()
        assert.deepStrictEqual((yield* search({ text: `${half}b${half}` })).matches, [])
        assert.isBelow(performance.now() - before, 10_000)
        const pattern = yield* call("search_files", { text: "needle", files: "**".repeat(501) })
        assert.strictEqual(code(pattern), "INVALID_ARGS")
      })
    )
  )
})
