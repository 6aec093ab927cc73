import * as fs from "node:fs"
import * as path from "node:path"
import { NodeFileSystem, NodePath } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { MemoryFileSystem, Sim } from "quiesce/testing"
import { it } from "quiesce/testing/Vitest"
import { makeFolder } from "../support/folder.js"
import { sweep, sweepWith } from "../support/sweep.js"

const setup = Effect.gen(function* () {
  const folder = yield* makeFolder
  const layer = Layer.provide(FileSystem.layer({ root: folder }), [NodeFileSystem.layer, NodePath.layer])
  return { folder, files: yield* Layer.build(layer) }
})

/** Everything below a folder: its files with their content. */
const snapshot = (folder: string): string =>
  fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const file = path.join(folder, name)
      return fs.statSync(file).isFile() ? `${name}=${fs.readFileSync(file, "utf8").slice(0, 3)}` : `${name}/`
    })
    .join(" ")

/** Whether an exit is a success or nothing but an interruption: a failed assertion is neither. */
const isClean = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)

describe("FileSystem (races)", () => {
  const text = "new".repeat(200_000) // two chunks

  describe.each([
    { where: "over a file", file: "file", old: "file=old", written: "file=new" },
    { where: "into new folders", file: "a/b/file", old: "", written: "a/ a/b/ a/b/file=new" }
  ])("204: writeText $where is done as a whole or not at all, and nothing is left", ({ file, old, written }) => {
    const prepare = (folder: string) => {
      const seen = new Map([old, written].map((state) => [state, new Set<string>()]))
      /** Writes into a folder that is as it was, and asserts what is there when the write has completed. */
      const write = <E>(operation: Effect.Effect<void, E>) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name), { recursive: true })
            if (old !== "") fs.writeFileSync(path.join(folder, file), "old")
            const exit = yield* Effect.exit(restore(operation))
            const left = snapshot(folder)
            assert.include([old, written], left)
            if (left === written) assert.strictEqual(fs.statSync(path.join(folder, file)).size, text.length)
            if (Exit.isSuccess(exit)) assert.strictEqual(left, written)
            seen.get(left)?.add(exit._tag)
            return yield* exit
          })
        )
      const verify = (exits: ReadonlyArray<Exit.Exit<void, unknown>>) => {
        assert.isAbove(exits.length, 100)
        assert.deepStrictEqual(
          exits.filter((exit) => !isClean(exit)),
          []
        )
        // It raced: it was rolled back, it was stopped too late, and it ran through.
        assert.deepStrictEqual([...(seen.get(old) ?? [])], ["Failure"])
        assert.sameMembers([...(seen.get(written) ?? [])], ["Failure", "Success"])
      }
      return { write, verify }
    }

    it.scoped(
      "when its fiber is interrupted before any one of its operations",
      () =>
        Effect.gen(function* () {
          const { files, folder } = yield* setup
          const { verify, write } = prepare(folder)
          // An owner that ends with the test: the operation runs on the fiber that is interrupted, and on no other.
          const context = Context.merge(yield* Cancellation.ownScoped, files)
          verify(yield* sweep(write(Effect.provide(FileSystem.writeText(file, text), context))))
        }),
      60_000
    )

    it.scoped(
      "when its owner is cancelled before any one of its operations",
      () =>
        Effect.gen(function* () {
          const { files, folder } = yield* setup
          const { verify, write } = prepare(folder)
          const exits = yield* sweepWith(() => {
            const controller = new AbortController()
            const operation = Cancellation.ownSignal(FileSystem.writeText(file, text), controller.signal)
            return { program: write(Effect.provide(operation, files)), fault: () => controller.abort() }
          })
          verify(exits)
        }),
      60_000
    )
  })

  it.scoped(
    "203: readText, interrupted before each of its operations, leaves no open file",
    () =>
      Effect.gen(function* () {
        const { files, folder } = yield* setup
        const context = Context.merge(yield* Cancellation.ownScoped, files)
        const file = path.join(folder, "file")
        fs.writeFileSync(file, text)
        const { ino } = fs.statSync(file)
        const isOpen = (): boolean =>
          Array.from({ length: 128 }, (_, descriptor) => {
            try {
              return fs.fstatSync(descriptor).ino === ino
            } catch {
              return false
            }
          }).includes(true)
        const outcomes = new Set<string>()
        const program = Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const exit = yield* Effect.exit(restore(Effect.provide(FileSystem.readText("file"), context)))
            assert.isFalse(isOpen())
            if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, text)
            outcomes.add(exit._tag)
            return yield* exit
          })
        )
        const exits = yield* sweep(program)

        assert.isAbove(exits.length, 50)
        assert.deepStrictEqual(
          exits.filter((exit) => !isClean(exit)),
          []
        )
        assert.sameMembers([...outcomes], ["Failure", "Success"])
      }),
    60_000
  )

  describe("explored", () => {
    /** Two writes, of which the second may wait for the first, under signals of the host. */
    const twoWrites = (second: string, guarded: boolean) => () =>
      Effect.gen(function* () {
        const context = yield* Layer.build(
          MemoryFileSystem.layer({ files: { file: "old", link: { kind: "link", target: "file" } } })
        )
        const memory = Context.get(context, MemoryFileSystem.MemoryFileSystem)
        const expected = guarded
          ? (yield* FileSystem.stat("file").pipe(Cancellation.own, Effect.provide(context))).version
          : undefined
        const controllers = [new AbortController(), new AbortController()] as const
        const write = (path: string, text: string, { signal }: AbortController) =>
          FileSystem.writeText(path, text, { expected }).pipe(
            Effect.match({ onSuccess: () => "done", onFailure: ({ reason }) => reason }),
            Cancellation.ownSignal(signal),
            Effect.provide(context)
          )
        const fibers = [
          yield* Sim.fork("first")(write("file", "first", controllers[0])),
          yield* Sim.fork("second")(write(second, "second", controllers[1]))
        ]
        yield* Sim.abort(controllers[0], undefined, "cancel first")
        yield* Sim.abort(controllers[1], undefined, "cancel second")
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        const [one = "", two = ""] = exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : "stopped"))
        const { file = "gone", ...others } = yield* memory.files
        assert.deepStrictEqual(others, { link: "-> file" }, "nothing staged is left")
        assert.deepStrictEqual(yield* memory.openFiles, [])
        // What is there is what the last one that succeeded wrote, or one that was stopped too late.
        if (one !== "stopped" && two !== "stopped") {
          assert.sameMembers([one, two], guarded ? ["done", "StaleVersion"] : ["done", "done"])
          if (guarded) assert.strictEqual(file, one === "done" ? "first" : "second")
        }
        if (one === "stopped" && two === "done") assert.strictEqual(file, "second")
        if (two === "stopped" && one === "done") assert.include(["first", "second"], file)
        if (two === "StaleVersion" && one === "stopped") assert.strictEqual(file, "first")
        const outcome = `${one} ${two} ${file}`
        yield* Sim.outcome(outcome)
        return outcome
      })

    it.explore(
      "206: two guarded writes of one target by two spellings, either cancelled at any instant: one wins, or nobody has",
      twoWrites("link", true),
      {
        preemptions: 0,
        faults: 1,
        granularity: "effect",
        expect: [
          "done StaleVersion first",
          "stopped done second", // before its commit point
          "stopped StaleVersion first", // behind it
          "done stopped first"
        ]
      },
      120_000
    )

    it.explore(
      "204, 206: two writes under one spelling: the first to come is the first to write, cancelled or not",
      twoWrites("file", false),
      {
        preemptions: 0,
        faults: 1,
        granularity: "effect",
        expect: ["done done second", "stopped done second", "done stopped first", "done stopped second"]
      },
      120_000
    )
  })
})
