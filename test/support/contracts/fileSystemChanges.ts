/**
 * What changes of a `FileSystem` keep to beside each other, beside readers, and beside other programs.
 */
import type { Error as PlatformError } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Deferred, Effect, Exit, Fiber, Logger, Stream } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { atCall, type Call, type Make, staging, type World } from "./fileSystem.js"

type Needs = FileSystem.FileSystem | Cancellation.Cancellation

const run = <A, E>(self: Effect.Effect<A, E, Needs>, world: World): Effect.Effect<A, E> =>
  self.pipe(Cancellation.own, Effect.provide(world.files))

const codeOf = <A>(self: Effect.Effect<A, FileSystem.FileSystemError>): Effect.Effect<string> =>
  Effect.match(self, { onSuccess: () => "done", onFailure: ({ code }) => code })

/** Holds the `nth` call of a method until it is let go. */
const hold = (world: World, method: string, nth = 1, when: Call["when"] = "before") =>
  Effect.gen(function* () {
    const reached = yield* Deferred.make<void>()
    const released = yield* Deferred.make<void, PlatformError.PlatformError>()
    let count = 0
    yield* world.intervene((call) => {
      if (call.method !== method || call.when !== when || ++count !== nth) return Effect.void
      return Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(released))
    })
    return { reached: Deferred.await(reached), release: Deferred.succeed(released, undefined) }
  })

const chunk = "x".repeat(1024 * 1024)

/** Defines the tests, for the file system that `make` gives. */
export const fileSystemChangesContract = (name: string, make: Make): void => {
  /** Starts changes one after another: each is in line before the next one begins. */
  const inLine = (world: World, changes: ReadonlyArray<Effect.Effect<unknown, FileSystem.FileSystemError, Needs>>) =>
    Effect.forEach(changes, (change) => Effect.zipLeft(Effect.fork(Effect.exit(run(change, world))), world.settle))

  describe(`changes beside each other, in the contract of FileSystem, kept by ${name}`, () => {
    it.scoped(
      "204: 20 interrupts of a large write, each at another chunk: the target is as it was, and nothing is left",
      () =>
        Effect.gen(function* () {
          const world = yield* make({ file: "old" })
          const { length: before } = yield* world.calls
          for (let nth = 1; nth <= 20; nth++) {
            const gate = yield* hold(world, "writeAll", 1)
            const text = chunk.repeat(nth % 4) + chunk
            const fiber = yield* Effect.fork(run(FileSystem.writeText("file", text), world))
            yield* gate.reached
            const stopping = yield* Effect.fork(Fiber.interrupt(fiber))
            yield* world.settle
            assert.isNull(stopping.unsafePoll())
            yield* gate.release
            yield* Fiber.join(stopping)
            assert.deepStrictEqual(yield* world.look, { file: "old" })
            assert.strictEqual(yield* world.openFiles, 0)
          }
          const writes = (yield* world.calls).slice(before).filter((method) => method === "writeAll")
          assert.lengthOf(writes, 20)
        }),
      60_000
    )

    it.scoped("a reader sees the old file or the new one, never anything between", () =>
      Effect.gen(function* () {
        const text = chunk + chunk
        const world = yield* make({ file: "old" })
        const seen = new Set<string>()
        yield* world.intervene(() =>
          Effect.map(world.look, ({ file = "none" }) => void seen.add(file === text ? "new" : file))
        )
        yield* run(FileSystem.writeText("file", text), world)
        assert.sameMembers([...seen], ["old", "new"])
      })
    )

    it.scoped("206: two guarded writes race: the first in line wins, the other is stale and changes nothing", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "old" })
        const { version } = yield* run(FileSystem.stat("file"), world)
        const gate = yield* hold(world, "writeAll")
        const write = (text: string) =>
          Effect.fork(run(FileSystem.writeText("file", text, { expected: version }), world))
        const first = yield* write("first")
        yield* gate.reached
        const second = yield* write("second")
        yield* world.settle
        yield* gate.release
        const written = yield* Fiber.join(first)
        const error = yield* Effect.flip(Fiber.join(second))
        assert.strictEqual(error.code, "FS_STALE_VERSION")
        assert.include(error.message, "Read it again")
        assert.deepStrictEqual(yield* world.look, { file: "first" })
        // What a write gives is the version to go on with.
        assert.strictEqual((yield* run(FileSystem.stat("file"), world)).version, written)
        yield* run(FileSystem.writeText("file", "third", { expected: written }), world)
        assert.deepStrictEqual(yield* world.look, { file: "third" })
      })
    )

    it.scoped.each(["realPath", "stat", "makeTempDirectory", "writeAll", "sync"])(
      "206: another program changes the file during %s of a guarded write: that is stale, and what the other wrote stays",
      (method) =>
        Effect.gen(function* () {
          const world = yield* make({ file: "old" })
          const { version } = yield* run(FileSystem.readVersioned("file"), world)
          const gate = yield* hold(world, method)
          const fiber = yield* Effect.fork(
            codeOf(run(FileSystem.writeText("file", "mine", { expected: version }), world))
          )
          yield* gate.reached
          yield* world.put("file", "theirs")
          yield* gate.release
          assert.strictEqual(yield* Fiber.join(fiber), "FS_STALE_VERSION")
          assert.deepStrictEqual(yield* world.look, { file: "theirs" })
        })
    )

    it.scoped("206: a version of a file that is gone, or became another one, is stale", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "old" })
        const { version } = yield* run(FileSystem.stat("file"), world)
        yield* run(FileSystem.remove("file"), world)
        const write = codeOf(run(FileSystem.writeText("file", "mine", { expected: version }), world))
        assert.strictEqual(yield* write, "FS_STALE_VERSION")
        assert.deepStrictEqual(yield* world.look, {})
        yield* run(FileSystem.writeText("file", "new"), world)
        assert.strictEqual(yield* write, "FS_STALE_VERSION")
        assert.deepStrictEqual(yield* world.look, { file: "new" })
      })
    )

    it.scoped("206: no version comes again, however quick and alike the writes are", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "0" })
        const versions = new Set<string>()
        for (let i = 0; i < 30; i++) versions.add(yield* run(FileSystem.writeText("file", String(i % 10)), world))
        assert.strictEqual(versions.size, 30)
      })
    )

    it.scoped("an edit never loses what another program writes meanwhile", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "one two" })
        const gate = yield* hold(world, "writeAll")
        const edit = FileSystem.editText("file", [{ find: "one", replace: "1" }])
        const fiber = yield* Effect.fork(codeOf(run(edit, world)))
        yield* gate.reached
        yield* world.put("file", "one two three")
        yield* gate.release
        assert.strictEqual(yield* Fiber.join(fiber), "FS_STALE_VERSION")
        assert.deepStrictEqual(yield* world.look, { file: "one two three" })
      })
    )

    it.scoped("two edits of one file both take effect", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "one two" })
        const edit = (find: string) => FileSystem.editText("file", [{ find, replace: find.toUpperCase() }])
        yield* Effect.all([run(edit("one"), world), run(edit("two"), world)], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* world.look, { file: "ONE TWO" })
      })
    )

    it.scoped("editText takes no more time and makes no more text than it may, whatever it is asked for", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "a".repeat(1024 * 1024) })
        const edit = (...edits: ReadonlyArray<FileSystem.Edit>) => run(FileSystem.editText("file", edits), world)
        const half = "a".repeat(65_536)
        const before = performance.now()
        // Each of these took a minute of the whole host, or all of its memory.
        assert.strictEqual(yield* codeOf(edit({ find: half, replace: "" })), "FS_TEXT_AMBIGUOUS")
        assert.strictEqual(yield* codeOf(edit({ find: `${half}b${half}`, replace: "" })), "FS_TEXT_NOT_FOUND")
        const twice = { find: "a", replace: "aa", all: true }
        const error = yield* Effect.flip(edit(...Array.from({ length: 40 }, () => twice)))
        assert.deepInclude(error, { code: "FS_TOO_LARGE" })
        assert.include(error.message, "with the replacement (edit 4 of 40) it would have 16777216 characters")
        assert.isBelow(performance.now() - before, 10_000)
        assert.deepStrictEqual(yield* world.look, { file: "a".repeat(1024 * 1024) })
      })
    )

    it.scoped("editText is stopped between two edits", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "a" })
        let made = 0
        const edits = Array.from({ length: 1000 }, () => ({
          get find() {
            if (++made === 10) controller.abort()
            return "a"
          },
          replace: "a"
        }))
        const controller = new AbortController()
        const edit = Cancellation.ownSignal(FileSystem.editText("file", edits), controller.signal)
        const exit = yield* Effect.exit(Effect.provide(edit, world.files))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isBelow(made, 20)
        assert.deepStrictEqual(yield* world.look, { file: "a" })
      })
    )

    it.scoped("editText says which text is missing or ambiguous, and changes nothing", () =>
      Effect.gen(function* () {
        const files = { file: "a\r\nb\r\naaa $& $1" }
        const world = yield* make(files)
        const edit = (...edits: ReadonlyArray<FileSystem.Edit>) => run(FileSystem.editText("file", edits), world)
        const missing = yield* Effect.flip(edit({ find: "b", replace: "c" }, { find: "secret", replace: "" }))
        assert.strictEqual(missing.code, "FS_TEXT_NOT_FOUND")
        assert.include(missing.message, "(edit 2 of 2) does not stand in it. Read it again")
        assert.notInclude(missing.message, "secret")
        const lines = yield* Effect.flip(edit({ find: "a\nb", replace: "" }))
        assert.include(lines.message, "with CRLF")
        const ambiguous = yield* Effect.flip(edit({ find: "aa", replace: "" }))
        assert.strictEqual(ambiguous.code, "FS_TEXT_AMBIGUOUS")
        assert.include(ambiguous.message, "stands in it 2 times")
        assert.strictEqual((yield* Effect.flip(edit({ find: "", replace: "" }))).code, "FS_TEXT_AMBIGUOUS")
        assert.deepStrictEqual(yield* world.look, files)
        yield* edit({ find: "a", replace: "$&$1", all: true })
        assert.deepStrictEqual(yield* world.look, { file: "$&$1\r\nb\r\n$&$1$&$1$&$1 $& $1" })
      })
    )

    it.scoped(
      "changes of one target take turns in the order in which they came, under all its spellings and links",
      () =>
        Effect.gen(function* () {
          const world = yield* make({ "folder/file": "0", link: { kind: "link", target: "folder/file" } })
          const texts: Array<string> = []
          yield* world.intervene(({ method, when }) =>
            method === "rename" && when === "after"
              ? Effect.map(world.look, (files) => void texts.push(files["folder/file"] ?? ""))
              : Effect.void
          )
          const gate = yield* hold(world, "writeAll")
          const spellings = ["folder/file", "link", "./folder/../folder/file", "folder//file", "link"]
          const fibers = yield* inLine(
            world,
            spellings.map((path, i) => FileSystem.writeText(path, String(i + 1)))
          )
          assert.deepStrictEqual(texts, [])
          yield* gate.release
          yield* Effect.forEach(fibers, Fiber.join)
          assert.deepStrictEqual(texts, ["1", "2", "3", "4", "5"])
        })
    )

    it.scoped("changes under one spelling keep their order also when the platform answers in another", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "0" })
        const gate = yield* hold(world, "realPath", 2) // the first is that of the root
        const fibers = yield* inLine(
          world,
          ["1", "2"].map((text) => FileSystem.writeText("file", text))
        )
        assert.deepStrictEqual(yield* world.look, { file: "0" })
        yield* gate.release
        yield* Effect.forEach(fibers, Fiber.join)
        assert.deepStrictEqual(yield* world.look, { file: "2" })
      })
    )

    it.scoped("206: who is interrupted while waiting leaves the line at once, and holds up nobody", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "0", link: { kind: "link", target: "file" } })
        const gate = yield* hold(world, "writeAll")
        const [first, second, third, fourth] = yield* inLine(world, [
          FileSystem.writeText("file", "1"),
          FileSystem.writeText("file", "2"),
          FileSystem.writeText("link", "3"),
          FileSystem.writeText("link", "4")
        ])
        assert(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined)
        for (const waiting of [second, third]) {
          yield* Fiber.interrupt(waiting) // completes while the first one still runs
          assert.isNull(first.unsafePoll())
        }
        yield* gate.release
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(fourth)))
        assert.deepStrictEqual(yield* world.look, { file: "4", link: "-> file" })
        assert.lengthOf(
          (yield* world.calls).filter((method) => method === "writeAll"),
          2
        )
      })
    )

    it.scoped("changes of other targets do not wait, those of a folder and of what is in it do", () =>
      Effect.gen(function* () {
        const world = yield* make({ "folder/file": "0", other: "0" })
        const gate = yield* hold(world, "writeAll")
        const [write, remove, again, other] = yield* inLine(world, [
          FileSystem.writeText("folder/file", "1"),
          FileSystem.remove("folder", { recursive: true }),
          FileSystem.writeText("folder/new", "2"),
          FileSystem.writeText("other", "3")
        ])
        assert(write !== undefined && remove !== undefined && again !== undefined && other !== undefined)
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(other)))
        assert.isNull(remove.unsafePoll())
        assert.isNull(again.unsafePoll())
        yield* gate.release
        assert.deepStrictEqual(yield* Fiber.join(remove), Exit.succeed(2))
        // It was in line behind the removal, and found what that had left.
        assert.isTrue(Exit.isSuccess(yield* Fiber.join(again)))
        assert.deepStrictEqual(yield* world.look, { folder: "/", "folder/new": "2", other: "3" })
      })
    )

    it.scoped("a link that is swapped in for a missing part is not written through", () =>
      Effect.gen(function* () {
        const world = yield* make({ "../outside/file": "secret" })
        const gate = yield* hold(world, "rename")
        const fiber = yield* Effect.fork(codeOf(run(FileSystem.writeText("a/file", "mine"), world)))
        yield* gate.reached
        yield* world.put("a", { kind: "link", target: "../outside" })
        yield* gate.release
        assert.notStrictEqual(yield* Fiber.join(fiber), "done")
        assert.deepStrictEqual(yield* world.look, { "/outside": "/", "/outside/file": "secret", a: "-> ../outside" })
      })
    )

    it.scoped(
      "a link that is swapped in for a folder behind any of their calls is not followed by a removal or a copy",
      () =>
        Effect.gen(function* () {
          const files = { "folder/sub/file": "", "../outside/secret": "secret" }
          const changes: ReadonlyArray<Effect.Effect<unknown, FileSystem.FileSystemError, Needs>> = [
            FileSystem.remove("folder", { recursive: true }),
            FileSystem.copy("folder", "copy", { recursive: true })
          ]
          for (const change of changes) {
            const undisturbed = yield* make({ ...files })
            yield* run(change, undisturbed)
            const calls = yield* undisturbed.calls
            let refused = 0
            for (let nth = 1; nth <= calls.length; nth++) {
              // Between the last look and the removal there is an instant that a platform without `unlinkat` leaves open.
              if (calls[nth - 1] === "realPath" && calls[nth] === "remove") continue
              const world = yield* make(files)
              yield* atCall(world, nth, "after", () =>
                Effect.gen(function* () {
                  if ((yield* world.look)["folder/sub"] !== "/") return // removed already
                  yield* world.discard("folder/sub")
                  yield* world.put("folder/sub", { kind: "link", target: "../../outside" })
                })
              )
              if (Exit.isFailure(yield* Effect.exit(run(change, world)))) refused++
              const left = yield* world.look
              assert.strictEqual(left["/outside/secret"], "secret")
              assert.isUndefined(left["copy/sub/secret"])
            }
            assert.isAbove(refused, 0)
          }
        }),
      20_000
    )

    it.scoped(
      "copy does not replace what has appeared at its target meanwhile, and names the target where that is at fault",
      () =>
        Effect.gen(function* () {
          const world = yield* make({ file: "mine", "folder/file": "" })
          const copy = (from: string, to: string, options?: FileSystem.CopyOptions) =>
            Effect.flip(run(FileSystem.copy(from, to, options), world))
          const gate = yield* hold(world, "sync")
          const fiber = yield* Effect.fork(copy("file", "copy"))
          yield* gate.reached
          yield* world.put("copy", "theirs")
          yield* gate.release
          const error = yield* Fiber.join(fiber)
          assert.strictEqual(
            error.message,
            `Cannot copy "file" to "copy": something else is there already. Choose another path.`
          )
          assert.strictEqual((yield* copy("folder", "folder/in/itself", { recursive: true })).code, "FS_INVALID_PATH")
          assert.strictEqual((yield* copy("file", "file", { overwrite: true })).code, "FS_ALREADY_EXISTS")
          assert.strictEqual(
            (yield* copy("folder", "copy", { recursive: true, overwrite: true })).code,
            "FS_ALREADY_EXISTS"
          )
          assert.strictEqual((yield* copy("file", "folder", { overwrite: true })).code, "FS_IS_DIRECTORY")
          const outside = yield* copy("file", "../file")
          assert.strictEqual(outside.code, "FS_OUTSIDE_ROOT")
          assert.include(outside.message, "its target: it is outside")
          const { "/root": _, ...files } = yield* world.look
          assert.deepStrictEqual(files, { file: "mine", folder: "/", "folder/file": "", copy: "theirs" })
        })
    )

    it.scoped("remove leaves the root alone, and says how much of a folder is gone where it stopped", () =>
      Effect.gen(function* () {
        const world = yield* make({ "folder/a": "", "folder/b": "", "folder/c": "" })
        for (const path of [".", "folder/.."]) {
          const error = yield* Effect.flip(run(FileSystem.remove(path, { recursive: true }), world))
          assert.strictEqual(error.code, "FS_OUTSIDE_ROOT")
        }
        const lines: Array<string> = []
        const logger = Logger.make(({ message }) => lines.push(String(message)))
        const gate = yield* hold(world, "remove", 2)
        const fiber = yield* run(FileSystem.remove("folder", { recursive: true }), world).pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
          Effect.fork
        )
        yield* gate.reached
        const stopping = yield* Effect.fork(Fiber.interrupt(fiber))
        yield* world.settle
        yield* gate.release
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(yield* world.look, { folder: "/", "folder/c": "" })
        assert.match(lines.join(), /Removing .*folder was stopped: 2 entries of it are gone/)
      })
    )

    describe("streamText", () => {
      it.scoped("gives a file of any size part by part, cut between characters", () =>
        Effect.gen(function* () {
          const text = `a${"🌱".repeat(600_000)}`
          const world = yield* make({ file: text })
          const parts = yield* run(Stream.runCollect(FileSystem.streamText("file")), world)
          assert.isAbove(Chunk.size(parts), 2)
          assert.strictEqual(Chunk.join(parts, ""), text)
          assert.strictEqual(yield* world.openFiles, 0)
        })
      )

      it.scoped("when its consumer stops early the file is closed, and no more is read", () =>
        Effect.gen(function* () {
          const world = yield* make({ file: chunk.repeat(8) })
          const parts = yield* run(Stream.runCollect(Stream.take(FileSystem.streamText("file"), 1)), world)
          assert.strictEqual(Chunk.size(parts), 1)
          assert.strictEqual(yield* world.openFiles, 0)
          // One that was asked for, one ahead, and one that waited to be handed over.
          const reads = (yield* world.calls).filter((method) => method === "readAlloc")
          assert.isAtMost(reads.length, 4)
        })
      )

      it.scoped("its owner does not end before the file is closed, although nobody pulls any more", () =>
        Effect.gen(function* () {
          const world = yield* make({ file: chunk.repeat(8) })
          const opened = yield* Deferred.make<void>()
          const result = yield* Deferred.make<Exit.Exit<void, FileSystem.FileSystemError>>()
          const goOn = yield* Deferred.make<void>()
          const program = Effect.gen(function* () {
            const consumer = FileSystem.streamText("file").pipe(
              Stream.runForEach(() => Effect.zipRight(Deferred.succeed(opened, undefined), Deferred.await(goOn))),
              Effect.exit,
              Effect.flatMap((exit) => Deferred.succeed(result, exit))
            )
            yield* Effect.forkDaemon(consumer)
            yield* Deferred.await(opened)
            assert.strictEqual(yield* world.openFiles, 1)
          })
          yield* run(program, world)
          assert.strictEqual(yield* world.openFiles, 0)
          // The consumer goes on, and finds that the stream was stopped.
          yield* Deferred.succeed(goOn, undefined)
          assert.isTrue(Exit.isInterrupted(yield* Deferred.await(result)))
        })
      )

      it.scoped("clean-up in a protected region can stream, and stop early", () =>
        Effect.gen(function* () {
          const world = yield* make({ file: chunk.repeat(8) })
          const controller = new AbortController()
          let read = 0
          const cleanUp = Effect.map(
            Stream.runCollect(Stream.take(FileSystem.streamText("file"), 1)),
            ([part = ""]) => {
              read = part.length
            }
          )
          const program = Effect.zipRight(
            Effect.sync(() => controller.abort()),
            Effect.never
          ).pipe(Effect.ensuring(Effect.orDie(cleanUp)))
          const exit = yield* program.pipe(
            Cancellation.ownSignal(controller.signal),
            Effect.provide(world.files),
            Effect.exit
          )
          assert.isTrue(Exit.isInterrupted(exit))
          assert.strictEqual(read, chunk.length)
          assert.strictEqual(yield* world.openFiles, 0)
        })
      )
    })

    it.scoped("nothing staged is left of all this", () =>
      Effect.gen(function* () {
        const world = yield* make({ file: "old" })
        yield* Effect.all(
          Array.from({ length: 10 }, (_, i) => run(FileSystem.writeText("file", String(i)), world)),
          { concurrency: "unbounded" }
        )
        const files = yield* world.look
        assert.deepStrictEqual(
          Object.keys(files).filter((path) => staging.test(path)),
          []
        )
        assert.deepStrictEqual(files, { file: "9" })
      })
    )
  })
}
