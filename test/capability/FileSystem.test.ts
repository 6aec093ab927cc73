import * as fs from "node:fs"
import * as path from "node:path"
import { Error as PlatformError } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Logger, Schema } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { makeFolder } from "../support/folder.js"
import { Gate, makePipe, Platform, rest, stopAt, tree } from "../support/observedPlatform.js"

const run = <A, E>(
  self: Effect.Effect<A, E, FileSystem.FileSystem | Cancellation.Cancellation>,
  root: string
): Effect.Effect<A, E> => self.pipe(Cancellation.own, new Platform().provide(root))

const diskFull = new PlatformError.SystemError({
  module: "FileSystem",
  method: "writeAll",
  reason: "Unknown",
  description: "ENOSPC: no space left on device, write",
  cause: Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
})

const denied = (method: string) =>
  new PlatformError.SystemError({ module: "FileSystem", method, reason: "PermissionDenied" })

// A chunk of text: what `writeText` writes without an interruptible point.
const chunkUnits = Math.floor((1024 * 1024) / 3) - 1
const large = (chunks: number): string => "new!".repeat((chunkUnits * chunks) / 4)

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

describe("FileSystem", () => {
  describe("readText", () => {
    it.scoped("reads what is there, byte order mark included", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "a.txt"), "\ufeffgrün 🌱\r\n")
        fs.writeFileSync(path.join(root, "empty"), "")
        assert.strictEqual(yield* run(FileSystem.readText("a.txt"), root), "\ufeffgrün 🌱\r\n")
        assert.strictEqual(yield* run(FileSystem.readText("empty"), root), "")
      })
    )

    it.scoped("reads characters that lie across two chunks", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const text = `a${"🌱".repeat(600_000)}`
        fs.writeFileSync(path.join(root, "a.txt"), text)
        assert.strictEqual(yield* run(FileSystem.readText("a.txt"), root), text)
      })
    )

    it.scoped.skipIf(process.platform !== "linux")("reads a file whose size is not known before", () =>
      Effect.gen(function* () {
        assert.include(yield* run(FileSystem.readText("self/status"), "/proc"), "VmPeak")
      })
    )

    it.scoped("says that a file is missing, and what to do", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const error = yield* Effect.flip(run(FileSystem.readText("note.txt"), root))
        assert.strictEqual(error.code, "FS_NOT_FOUND")
        assert.strictEqual(
          error.message,
          `Cannot read "note.txt": there is nothing at this path. Check the name, or list the folder that it should be in.`
        )
      })
    )

    it.scoped("refuses a folder, and a path that goes on behind a file", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "file"), "")
        assert.strictEqual((yield* Effect.flip(run(FileSystem.readText("."), root))).code, "FS_IS_DIRECTORY")
        const below = yield* Effect.flip(run(FileSystem.readText("file/below"), root))
        assert.strictEqual(below.code, "FS_NOT_A_DIRECTORY")
      })
    )

    it.scoped.skipIf(process.platform === "win32")("refuses a pipe and a device without opening them", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        makePipe(path.join(root, "pipe"))
        fs.symlinkSync("/dev/zero", path.join(root, "zero"))
        const platform = new Platform()
        for (const name of ["pipe", "zero"]) {
          const read = FileSystem.readText(path.join(root, name))
          const error = yield* read.pipe(Cancellation.own, platform.provide(), Effect.flip)
          assert.strictEqual(error.code, "FS_NOT_A_FILE")
        }
        assert.notInclude(platform.calls, "open")
      })
    )

    it.scoped.skipIf(process.platform === "win32")("refuses a device that takes the place of a file meanwhile", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "file")
        fs.writeFileSync(file, "text")
        const swap = Effect.sync(() => {
          fs.rmSync(file)
          fs.symlinkSync("/dev/zero", file)
        })
        const platform = new Platform({ before: (method) => (method === "open" ? swap : Effect.void) })
        const read = FileSystem.readText("file").pipe(Cancellation.own, platform.provide(root))
        assert.strictEqual((yield* Effect.flip(read)).code, "FS_NOT_A_FILE")
        assert.notInclude(platform.calls, "readAlloc")
      })
    )

    it.scoped("refuses bytes that are not UTF-8, also a character that is cut off at the end", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "latin1"), Buffer.from("gr\xfcn", "latin1"))
        fs.writeFileSync(path.join(root, "cut"), Buffer.from("grün 🌱").subarray(0, -1))
        assert.strictEqual((yield* Effect.flip(run(FileSystem.readText("latin1"), root))).code, "FS_NOT_TEXT")
        assert.strictEqual((yield* Effect.flip(run(FileSystem.readText("cut"), root))).code, "FS_NOT_TEXT")
      })
    )

    it.scoped("refuses more than 10 MiB without opening it, and any other limit on demand", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "big"), "")
        fs.truncateSync(path.join(root, "big"), 10 * 1024 * 1024 + 1)
        fs.writeFileSync(path.join(root, "small"), "12345")
        const platform = new Platform()
        const read = FileSystem.readText("big").pipe(Cancellation.own, platform.provide(root))
        assert.strictEqual((yield* Effect.flip(read)).code, "FS_TOO_LARGE")
        assert.notInclude(platform.calls, "open")
        const small = (maxBytes: number) => run(FileSystem.readText("small", { maxBytes }), root)
        assert.strictEqual(yield* small(5), "12345")
        const error = yield* Effect.flip(small(4))
        assert.include(error.message, "it has 5 bytes or more, and at most 4 may be read")
        assert.strictEqual((yield* Effect.flip(small(Number.NaN))).code, "FS_TOO_LARGE")
      })
    )

    it.scoped("stops at the limit when the file grows while it is read", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "log")
        fs.writeFileSync(file, "12345")
        const platform = new Platform({
          before: (method) => Effect.sync(() => (method === "readAlloc" ? fs.appendFileSync(file, "6") : undefined))
        })
        const read = FileSystem.readText("log", { maxBytes: 5 }).pipe(Cancellation.own, platform.provide(root))
        assert.strictEqual((yield* Effect.flip(read)).code, "FS_TOO_LARGE")
      })
    )

    it.scoped("203: an interruption takes effect after the chunk that is being read, and the file is closed", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "a.txt")
        fs.writeFileSync(file, large(9))
        const gate = new Gate("readAlloc", 2)
        const platform = new Platform({ before: gate.hook })
        const controller = new AbortController()
        const fiber = yield* FileSystem.readText("a.txt").pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.fork
        )
        const exit = yield* stopAt(gate, platform, fiber, () => controller.abort())
        assert.isTrue(Exit.isInterrupted(exit))
        assert.strictEqual(platform.count("readAlloc"), 2)
        assert.strictEqual(platform.descriptors.length, 1)
        const { ino } = fs.statSync(file)
        for (const descriptor of platform.descriptors) {
          // Closed, or taken by somebody else since.
          const open = yield* Effect.option(Effect.try(() => fs.fstatSync(descriptor)))
          assert.isFalse(open._tag === "Some" && open.value.ino === ino)
        }
      })
    )
  })

  describe("list", () => {
    it.scoped.skipIf(process.platform === "win32")("lists names and kinds in the order of the names", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "b"), "")
        fs.writeFileSync(path.join(root, "Z"), "")
        fs.mkdirSync(path.join(root, "folder"))
        fs.symlinkSync("folder", path.join(root, "a"))
        fs.symlinkSync("nowhere", path.join(root, "dangling"))
        makePipe(path.join(root, "pipe"))
        assert.deepStrictEqual(yield* run(FileSystem.list("."), root), [
          { name: "Z", kind: "file" },
          { name: "a", kind: "link" },
          { name: "b", kind: "file" },
          { name: "dangling", kind: "link" },
          { name: "folder", kind: "directory" },
          { name: "pipe", kind: "other" }
        ])
      })
    )

    it.scoped("refuses a file and a folder that is not there", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.writeFileSync(path.join(root, "file"), "")
        assert.strictEqual((yield* Effect.flip(run(FileSystem.list("file"), root))).code, "FS_NOT_A_DIRECTORY")
        const error = yield* Effect.flip(run(FileSystem.list("none"), root))
        assert.include(error.message, `Cannot list "none": there is nothing at this path.`)
      })
    )

    it.scoped("203: an interruption takes effect between two entries", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        for (const name of ["a", "b", "c"]) fs.writeFileSync(path.join(root, name), "")
        const gate = new Gate("readLink", 2)
        const platform = new Platform({ before: gate.hook })
        const controller = new AbortController()
        const fiber = yield* FileSystem.list(".").pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.fork
        )
        const exit = yield* stopAt(gate, platform, fiber, () => controller.abort())
        assert.isTrue(Exit.isInterrupted(exit))
        assert.strictEqual(platform.count("readLink"), 2)
      })
    )
  })

  describe("writeText", () => {
    it.scoped("writes a new file, with missing folders, in the modes of the system", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.mkdirSync(path.join(root, "plain"))
        fs.writeFileSync(path.join(root, "plain", "file"), "")
        yield* run(FileSystem.writeText("a/b/file", "grün 🌱"), root)
        assert.strictEqual(fs.readFileSync(path.join(root, "a/b/file"), "utf8"), "grün 🌱")
        assert.deepStrictEqual(tree(root), ["a", "a/b", "a/b/file", "plain", "plain/file"])
        const mode = (name: string) => fs.statSync(path.join(root, name)).mode
        assert.strictEqual(mode("a/b"), mode("plain"))
        assert.strictEqual(mode("a"), mode("plain"))
        assert.strictEqual(mode("a/b/file"), mode("plain/file"))
      })
    )

    it.scoped("writes an empty text, and characters that lie across two chunks", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        yield* run(FileSystem.writeText("empty", ""), root)
        assert.strictEqual(fs.readFileSync(path.join(root, "empty"), "utf8"), "")
        for (const before of ["", "a"]) {
          const text = before + "🌱".repeat(400_000)
          yield* run(FileSystem.writeText("file", text), root)
          assert.strictEqual(fs.readFileSync(path.join(root, "file"), "utf8"), text)
        }
      })
    )

    it.scoped("refuses text that UTF-8 cannot express, at its place", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const error = yield* Effect.flip(run(FileSystem.writeText("file", `${large(2)}\ud83c`), root))
        assert.strictEqual(error.code, "FS_NOT_TEXT")
        assert.deepStrictEqual(tree(root), [])
      })
    )

    it.scoped.skipIf(process.platform === "win32")("keeps the mode of the file that is there", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "script")
        fs.writeFileSync(file, "old")
        for (const mode of [0o755, 0o600, 0o666]) {
          fs.chmodSync(file, mode)
          yield* run(FileSystem.writeText("script", "new"), root)
          assert.strictEqual(fs.statSync(file).mode & 0o7777, mode)
        }
        assert.strictEqual(fs.readFileSync(file, "utf8"), "new")
      })
    )

    it.scoped.skipIf(process.getuid?.() !== 0)("keeps the owner of the file that is there, as root", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "file")
        fs.writeFileSync(file, "old")
        fs.chownSync(file, 1234, 5678)
        yield* run(FileSystem.writeText("file", "new"), root)
        const { gid, uid } = fs.statSync(file)
        assert.deepStrictEqual([uid, gid], [1234, 5678])
      })
    )

    it.scoped("stages in a private folder, and tells the disk before it publishes", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const modes: Array<number> = []
        const platform = new Platform({
          before: (method) =>
            Effect.sync(() => {
              const staging = tree(root).find((name) => name.startsWith(".quiesce-"))
              if (method !== "makeTempDirectory" && staging !== undefined) {
                modes.push(fs.statSync(path.join(root, staging.split("/")[0] ?? "")).mode & 0o777)
              }
            })
        })
        yield* FileSystem.writeText("new", "new").pipe(Cancellation.own, platform.provide(root))
        const steps = ["makeTempDirectory", "open", "writeAll", "sync", "rename", "remove"]
        assert.deepStrictEqual(
          platform.calls.filter((call) => steps.includes(call)),
          steps
        )
        assert.isAtLeast(modes.length, 5)
        if (process.platform !== "win32") assert.deepStrictEqual([...new Set(modes)], [0o700])
      })
    )

    it.scoped("writes through a link, also one that points to nothing yet, and leaves the link", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.mkdirSync(path.join(root, "folder"))
        fs.writeFileSync(path.join(root, "folder", "file"), "old")
        fs.symlinkSync("folder/file", path.join(root, "link"))
        fs.symlinkSync("folder/new/file", path.join(root, "dangling"))
        yield* run(FileSystem.writeText("link", "through link"), root)
        yield* run(FileSystem.writeText("dangling", "through dangling"), root)
        assert.strictEqual(fs.readlinkSync(path.join(root, "link")), "folder/file")
        assert.strictEqual(fs.readlinkSync(path.join(root, "dangling")), "folder/new/file")
        assert.strictEqual(fs.readFileSync(path.join(root, "folder/file"), "utf8"), "through link")
        assert.strictEqual(fs.readFileSync(path.join(root, "folder/new/file"), "utf8"), "through dangling")
      })
    )

    it.scoped.skipIf(process.platform === "win32")("refuses a folder, a pipe and what may not be written", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.mkdirSync(path.join(root, "folder"))
        fs.writeFileSync(path.join(root, "file"), "old")
        makePipe(path.join(root, "pipe"))
        const write = (file: string) => Effect.flip(run(FileSystem.writeText(file, "new"), root))
        assert.strictEqual((yield* write("folder")).code, "FS_IS_DIRECTORY")
        assert.strictEqual((yield* write("pipe")).code, "FS_NOT_A_FILE")
        assert.strictEqual((yield* write("file/below")).code, "FS_NOT_A_DIRECTORY")
        const readOnly = new Platform({
          before: (method) => (method === "access" ? Effect.fail(denied(method)) : Effect.void)
        })
        const error = yield* FileSystem.writeText("file", "new").pipe(
          Cancellation.own,
          readOnly.provide(root),
          Effect.flip
        )
        assert.strictEqual(error.code, "FS_PERMISSION_DENIED")
        assert.deepStrictEqual(tree(root), ["file", "folder", "pipe"])
        assert.strictEqual(fs.readFileSync(path.join(root, "file"), "utf8"), "old")
        assert.isTrue(fs.statSync(path.join(root, "pipe")).isFIFO())
      })
    )

    it.scoped("204: abort during the staged write: target untouched, staging removed", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "file")
        fs.writeFileSync(file, "old")
        const gate = new Gate("writeAll", 2)
        const cleanUp = new Gate("remove")
        const platform = new Platform({ before: (m, n) => Effect.zipRight(gate.hook(m, n), cleanUp.hook(m, n)) })
        const controller = new AbortController()
        const fiber = yield* FileSystem.writeText("file", large(5)).pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.fork
        )
        yield* Deferred.await(gate.reached)
        assert.strictEqual(tree(root).length, 3) // the staging folder, the staged file, the target
        controller.abort()
        yield* rest
        assert.notInclude(platform.calls, "remove") // not before the chunk has been written
        yield* Deferred.succeed(gate.open, undefined)
        // Again, while it cleans up: that changes nothing, and is awaited.
        const exit = yield* stopAt(cleanUp, platform, fiber)
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        assert.deepStrictEqual(tree(root), ["file"])
        assert.strictEqual(fs.readFileSync(file, "utf8"), "old")
        assert.notInclude(platform.calls, "rename")
      })
    )

    // In what order a write of one chunk over a file calls the platform. An abort that comes while one of these runs...
    const beforeCommit = [
      "realPath",
      "stat",
      "access",
      "makeTempDirectory",
      "open",
      "writeAll",
      "sync",
      "chown",
      "chmod"
    ]
    it.scoped.each(beforeCommit)("204: abort during %s changes nothing", (method) =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "file")
        fs.writeFileSync(file, "old")
        // So that it is given back, or the attempt is made.
        if (process.getuid?.() === 0) fs.chownSync(file, 1234, 5678)
        else if (method === "chown") return
        const gate = new Gate(method)
        const platform = new Platform({ after: gate.hook })
        const controller = new AbortController()
        const fiber = yield* FileSystem.writeText("file", "new").pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.fork
        )
        const exit = yield* stopAt(gate, platform, fiber, () => controller.abort())
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        assert.deepStrictEqual(tree(root), ["file"])
        assert.strictEqual(fs.readFileSync(file, "utf8"), "old")
        const after = platform.calls.slice(platform.calls.indexOf(method) + 1)
        assert.deepStrictEqual(after, platform.calls.includes("makeTempDirectory") ? ["remove"] : [])
      })
    )

    it.scoped.each(["before", "after"] as const)(
      "204: abort %s the rename was made is too late: it succeeded",
      (when) =>
        Effect.gen(function* () {
          const root = yield* makeFolder
          const file = path.join(root, "file")
          fs.writeFileSync(file, "old")
          const gate = new Gate("rename")
          const platform = new Platform({ [when]: gate.hook })
          const controller = new AbortController()
          // What the operation itself ended with: its caller, where it can be interrupted, is.
          const result = yield* Deferred.make<Exit.Exit<FileSystem.Version, FileSystem.FileSystemError>>()
          const fiber = yield* FileSystem.writeText("file", "new").pipe(
            Effect.exit,
            Effect.tap((exit) => Deferred.succeed(result, exit)),
            Effect.uninterruptible,
            Cancellation.ownSignal(controller.signal),
            platform.provide(root),
            Effect.fork
          )
          const exit = yield* stopAt(gate, platform, fiber, () => controller.abort())
          assert.isTrue(Exit.isInterrupted(exit))
          assert.isTrue(Exit.isSuccess(yield* Deferred.await(result)))
          assert.deepStrictEqual(tree(root), ["file"])
          assert.strictEqual(fs.readFileSync(file, "utf8"), "new")
        })
    )

    it.scoped("204: abort while the rename runs: a caller that can be interrupted sees only that", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const gate = new Gate("rename")
        const platform = new Platform({ before: gate.hook })
        const controller = new AbortController()
        const fiber = yield* FileSystem.writeText("a/file", "new").pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.fork
        )
        const exit = yield* stopAt(gate, platform, fiber, () => controller.abort())
        assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
        assert.deepStrictEqual(tree(root), ["a", "a/file"])
        assert.strictEqual(fs.readFileSync(path.join(root, "a/file"), "utf8"), "new")
      })
    )

    it.scoped(
      "204: 20 interrupts of a large write, each at another chunk: never half a file, no chunk after it",
      () =>
        Effect.gen(function* () {
          const root = yield* makeFolder
          const file = path.join(root, "file")
          fs.writeFileSync(file, "old")
          const text = large(20)
          for (let n = 1; n <= 20; n++) {
            const gate = new Gate("writeAll", n)
            const platform = new Platform({ before: gate.hook })
            const fiber = yield* FileSystem.writeText("file", text).pipe(
              Cancellation.own,
              platform.provide(root),
              Effect.fork
            )
            assert.isTrue(Exit.isInterrupted(yield* stopAt(gate, platform, fiber)))
            assert.strictEqual(platform.count("writeAll"), n)
            assert.deepStrictEqual(tree(root), ["file"])
            assert.strictEqual(fs.readFileSync(file, "utf8"), "old")
          }
        }),
      30_000
    )

    it.scoped(
      "forces what it has written to the disk every 32 MiB, so that no wait for it is long",
      () =>
        Effect.gen(function* () {
          const root = yield* makeFolder
          const platform = new Platform()
          const text = "x".repeat(40 * 1024 * 1024)
          yield* FileSystem.writeText("file", text).pipe(Cancellation.own, platform.provide(root))
          const written = platform.calls.filter((call) => call === "writeAll" || call === "sync")
          assert.strictEqual(written.filter((call) => call === "sync").length, 2)
          assert.isBelow(written.indexOf("sync"), 100)
          assert.strictEqual(fs.statSync(path.join(root, "file")).size, text.length)
        }),
      30_000
    )

    it.scoped("a reader sees the old file or the new one, never anything between", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const file = path.join(root, "file")
        const text = large(6)
        fs.writeFileSync(file, "old")
        const seen = new Set<string>()
        const look = () => Effect.sync(() => void seen.add(fs.readFileSync(file, "utf8")))
        const platform = new Platform({ before: look, after: look })
        yield* FileSystem.writeText("file", text).pipe(Cancellation.own, platform.provide(root))
        assert.isAbove(platform.calls.length, 10)
        assert.isTrue(seen.size === 2 && seen.has("old") && seen.has(text))
      })
    )

    it.scoped("a new folder appears with its file in it", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const seen = new Set<string>()
        const look = () =>
          Effect.sync(() => void seen.add(JSON.stringify(tree(root).filter((name) => !name.startsWith(".quiesce-")))))
        const platform = new Platform({ before: look, after: look })
        yield* FileSystem.writeText("a/b/file", "new").pipe(Cancellation.own, platform.provide(root))
        assert.sameMembers([...seen], ["[]", `["a","a/b","a/b/file"]`])
      })
    )

    it.scoped("204: folders that were to be made are not there after an interruption", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        for (const method of ["makeDirectory", "open", "writeAll", "sync"]) {
          const gate = new Gate(method)
          const platform = new Platform({ after: gate.hook })
          const fiber = yield* FileSystem.writeText("a/b/file", "new").pipe(
            Cancellation.own,
            platform.provide(root),
            Effect.fork
          )
          assert.isTrue(Exit.isInterrupted(yield* stopAt(gate, platform, fiber)))
          assert.deepStrictEqual(tree(root), [])
        }
      })
    )

    it.scoped("two writes into the same new folder both arrive, and what others made there stays", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const gate = new Gate("rename")
        const platform = new Platform({ before: gate.hook })
        const fiber = yield* FileSystem.writeText("a/b/file", "mine").pipe(
          Cancellation.own,
          platform.provide(root),
          Effect.fork
        )
        yield* Deferred.await(gate.reached)
        yield* run(FileSystem.writeText("a/other", "theirs"), root)
        yield* Deferred.succeed(gate.open, undefined)
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(tree(root), ["a", "a/b", "a/b/file", "a/other"])
        assert.strictEqual(fs.readFileSync(path.join(root, "a/other"), "utf8"), "theirs")
        assert.strictEqual(fs.readFileSync(path.join(root, "a/b/file"), "utf8"), "mine")
      })
    )

    it.scoped("does not publish through a link that somebody put there meanwhile", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const outside = yield* makeFolder
        const gate = new Gate("rename")
        const platform = new Platform({ before: gate.hook })
        const fiber = yield* FileSystem.writeText("a/file", "mine").pipe(
          Cancellation.own,
          platform.provide(root),
          Effect.fork
        )
        yield* Deferred.await(gate.reached)
        fs.symlinkSync(outside, path.join(root, "a"))
        yield* Deferred.succeed(gate.open, undefined)
        assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
        assert.deepStrictEqual(tree(outside), [])
        assert.deepStrictEqual(tree(root), ["a"])
      })
    )

    it.scoped.each(["makeTempDirectory", "makeDirectory", "open", "writeAll", "sync", "rename"])(
      "a disk that is full at %s leaves nothing behind",
      (method) =>
        Effect.gen(function* () {
          const root = yield* makeFolder
          const platform = new Platform({ before: (m) => (m === method ? Effect.fail(diskFull) : Effect.void) })
          const error = yield* FileSystem.writeText("a/b/file", "new").pipe(
            Cancellation.own,
            platform.provide(root),
            Effect.flip
          )
          assert.strictEqual(error.code, "FS_NO_SPACE")
          assert.strictEqual(
            error.message,
            `Cannot write "a/b/file": no space is left on the device. Make room and try again.`
          )
          assert.deepStrictEqual(tree(root), [])
        })
    )

    it.scoped("a defect of the platform leaves nothing behind", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const platform = new Platform({ before: (m) => (m === "writeAll" ? Effect.die("bug") : Effect.void) })
        const exit = yield* FileSystem.writeText("file", "new").pipe(
          Cancellation.own,
          platform.provide(root),
          Effect.exit
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.deepStrictEqual(tree(root), [])
      })
    )

    it.scoped("a failure that comes while it is being cancelled is not lost", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const gate = new Gate("writeAll")
        const platform = new Platform({ before: gate.hook })
        const controller = new AbortController()
        const fiber = yield* FileSystem.writeText("file", "new").pipe(
          Cancellation.ownSignal(controller.signal),
          platform.provide(root),
          Effect.provide(silent),
          Effect.fork
        )
        const exit = yield* stopAt(gate, platform, fiber, () => controller.abort(), Effect.fail(diskFull))
        const failures = Exit.isFailure(exit) ? [...Cause.failures(exit.cause)] : []
        assert.deepStrictEqual(
          failures.map((error) => error.code),
          ["FS_NO_SPACE"]
        )
        assert.deepStrictEqual(tree(root), [])
      })
    )

    it.scoped("a staging folder that cannot be removed does not undo a write, and is named in the log", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const messages: Array<string> = []
        const logger = Logger.make(({ message }) => messages.push(String(message)))
        const platform = new Platform({ before: (m) => (m === "remove" ? Effect.fail(denied(m)) : Effect.void) })
        yield* FileSystem.writeText("file", "new").pipe(
          Cancellation.own,
          platform.provide(root),
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
        assert.strictEqual(fs.readFileSync(path.join(root, "file"), "utf8"), "new")
        assert.strictEqual(messages.length, 1)
        assert.match(messages[0] ?? "", /staging folder .*\.quiesce-\w{6} could not be removed/)
      })
    )

    it.scoped("an owner waits for a write that was started from a daemon", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const gate = new Gate("writeAll")
        const platform = new Platform({ before: gate.hook })
        const fiber = yield* Effect.forkDaemon(FileSystem.writeText("file", large(3))).pipe(
          Effect.zipRight(Deferred.await(gate.reached)),
          Cancellation.own,
          platform.provide(root),
          Effect.fork
        )
        yield* Deferred.await(gate.reached)
        yield* Effect.yieldNow()
        assert.isNull(fiber.unsafePoll())
        yield* Deferred.succeed(gate.open, undefined)
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(tree(root), []) // stopped, since its owner ended, and awaited
        assert.strictEqual(platform.count("writeAll"), 1)
      })
    )
  })

  describe("root", () => {
    it.scoped("what is inside can be named from the root or absolutely, also where the root is a link", () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const real = path.join(folder, "real")
        const link = path.join(folder, "link")
        fs.mkdirSync(path.join(real, "..folder"), { recursive: true })
        fs.symlinkSync(real, link)
        for (const root of [real, link]) {
          for (const name of ["file", path.join(real, "file"), path.join(link, "file"), "x/../file", "..folder/file"]) {
            if (root === real && name.startsWith(link)) continue // outside, as far as the words go
            yield* run(FileSystem.writeText(name, name), root)
            assert.strictEqual(yield* run(FileSystem.readText(name), root), name)
          }
          assert.deepStrictEqual(yield* run(FileSystem.list(""), root), [
            { name: "..folder", kind: "directory" },
            { name: "file", kind: "file" }
          ])
        }
      })
    )

    it.scoped("what leads out of it fails, for every operation, and changes nothing", () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const root = path.join(folder, "root")
        fs.mkdirSync(root)
        fs.mkdirSync(path.join(folder, "root-2"))
        fs.writeFileSync(path.join(folder, "secret"), "secret")
        fs.symlinkSync("../secret", path.join(root, "link-to-file"))
        fs.symlinkSync("..", path.join(root, "link-to-folder"))
        fs.symlinkSync("../not-there/yet", path.join(root, "link-to-nothing"))
        fs.symlinkSync("link-to-folder/not-there", path.join(root, "link-through-link"))
        const before = tree(folder)
        const leadOut = [
          "..",
          "../secret",
          "../root-2/file",
          "../not-there",
          "inside/../../secret",
          path.join(folder, "secret"),
          "/",
          "link-to-file",
          "link-to-folder",
          "link-to-folder/secret",
          "link-to-folder/not/there",
          "link-to-folder/root-2",
          "link-to-nothing",
          "link-to-nothing/below",
          "link-through-link"
        ]
        for (const name of leadOut) {
          for (const operation of [FileSystem.readText(name), FileSystem.list(name), FileSystem.writeText(name, "")]) {
            const error = yield* Effect.flip(
              run(
                Effect.asVoid<unknown, FileSystem.FileSystemError, FileSystem.FileSystem | Cancellation.Cancellation>(
                  operation
                ),
                root
              )
            )
            assert.strictEqual(error.code, "FS_OUTSIDE_ROOT", `${error.operation} ${name}`)
          }
        }
        assert.deepStrictEqual(tree(folder), before)
        assert.strictEqual(fs.readFileSync(path.join(folder, "secret"), "utf8"), "secret")
      })
    )

    it.scoped("asks the system nothing about a path that leads out by its words alone", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const platform = new Platform()
        yield* FileSystem.readText("../not-there").pipe(Cancellation.own, platform.provide(root), Effect.flip)
        assert.deepStrictEqual(platform.calls, ["realPath"]) // of the root
      })
    )

    it.scoped("says so when it does not exist", () =>
      Effect.gen(function* () {
        const folder = yield* makeFolder
        const error = yield* Effect.flip(run(FileSystem.writeText("file", ""), path.join(folder, "none")))
        assert.strictEqual(error.code, "FS_NOT_FOUND")
        assert.include(error.message, "the root of this file system cannot be used")
        assert.deepStrictEqual(tree(folder), [])
      })
    )

    it.scoped("without one, paths start in the working directory", () =>
      Effect.gen(function* () {
        const read = FileSystem.readText("package.json").pipe(Cancellation.own, new Platform().provide())
        assert.strictEqual(yield* read, fs.readFileSync("package.json", "utf8"))
      })
    )
  })

  describe("FileSystemError", () => {
    it.scoped("tells an impossible path from one that is free", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        for (const name of ["a\0b", "x".repeat(5000)]) {
          assert.strictEqual((yield* Effect.flip(run(FileSystem.writeText(name, ""), root))).code, "FS_INVALID_PATH")
        }
      })
    )

    it.scoped("says what the system said where it has no words of its own, and not where the root is", () =>
      Effect.gen(function* () {
        // The first page of a process is mapped nowhere.
        const error = yield* Effect.flip(run(FileSystem.readText("mem"), "/proc/self"))
        assert.strictEqual(error.code, "FS_UNKNOWN")
        assert.include(error.message, "EIO: i/o error")
        assert.notInclude(error.message, "proc")
      })
    )

    it.scoped("says of links that lead in a circle that they do", () =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        fs.symlinkSync("a", path.join(root, "b"))
        fs.symlinkSync("b", path.join(root, "a"))
        const error = yield* Effect.flip(run(FileSystem.readText("a"), root))
        assert.strictEqual(error.code, "FS_INVALID_PATH")
        assert.include(error.message, "it leads through too many links, or in a circle")
        assert.notInclude(error.message, root)
      })
    )

    it.prop(
      "survives a round trip through JSON",
      { error: FileSystem.FileSystemError.pipe(Schema.typeSchema) },
      ({ error }) => {
        const json = JSON.parse(JSON.stringify(Schema.encodeSync(FileSystem.FileSystemError)(error)))
        const back = Schema.decodeUnknownSync(FileSystem.FileSystemError)(json)
        assert.strictEqual(back._tag, error._tag)
        assert.strictEqual(back.code, error.code)
        assert.strictEqual(back.message, error.message)
      }
    )
  })
})
