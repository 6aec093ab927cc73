// Other programs at work in the same folders, at the same time.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, type Scope, Stream } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { NodeFileSystem } from "quiesce/node"
import { makeFolder } from "../support/folder.js"
import { makePipe, Platform, tree } from "../support/observedPlatform.js"

const isLinux = process.platform === "linux"

/** Starts a program that swaps, and waits until it does. */
const swapping = (...args: ReadonlyArray<string>): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [path.resolve("test/support/swapper.mjs"), ...args], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      await once(child.stdout, "data")
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const ended = once(child, "exit")
        child.kill("SIGKILL")
        await ended
      })
  )

const secret = "nobody inside may see this"

/** A root with a folder in it, and a folder beside it that nothing of this concerns. */
const makeWorld = Effect.map(makeFolder, (base) => {
  const [root, outside] = [path.join(base, "root"), path.join(base, "outside")]
  const folder = path.join(root, "folder")
  const fill = () => {
    for (const place of fs.readdirSync(root)) fs.rmSync(path.join(root, place), { recursive: true })
    fs.mkdirSync(path.join(folder, "sub"), { recursive: true })
    for (const name of ["file", "sub/file"]) fs.writeFileSync(path.join(folder, name), "inside")
    fs.writeFileSync(path.join(root, "file"), "inside")
  }
  fs.mkdirSync(root)
  fs.mkdirSync(path.join(outside, "sub"), { recursive: true })
  for (const name of ["file", "sub/file"]) fs.writeFileSync(path.join(outside, name), secret)
  fill()
  const before = tree(outside)
  const assertUntouched = (said: unknown) => {
    assert.deepStrictEqual(tree(outside), before)
    for (const name of ["file", "sub/file"]) {
      assert.strictEqual(fs.readFileSync(path.join(outside, name), "utf8"), secret)
    }
    assert.notInclude(JSON.stringify(said) ?? "", secret)
    for (const name of tree(root)) {
      assert.notInclude(name, ".quiesce-")
      const file = path.join(root, name)
      if (fs.lstatSync(file).isFile()) assert.notInclude(fs.readFileSync(file, "utf8"), secret, name)
    }
  }
  return { root, outside, folder, fill, assertUntouched }
})

type Needs = FileSystem.FileSystem | Cancellation.Cancellation

/** Each operation on something that is in a folder. */
const operations: {
  readonly [K in Exclude<keyof FileSystem.Service, "resolve">]: ReadonlyArray<
    Effect.Effect<unknown, FileSystem.FileSystemError, Needs>
  >
} = {
  stat: [FileSystem.stat("folder/file")],
  lstat: [FileSystem.lstat("folder/file")],
  readText: [FileSystem.readText("folder/file"), FileSystem.readText("folder/sub/file")],
  readVersioned: [FileSystem.readVersioned("folder/file")],
  readBytes: [Effect.map(FileSystem.readBytes("folder/file"), (bytes) => Buffer.from(bytes).toString())],
  streamText: [Stream.runCollect(FileSystem.streamText("folder/file"))],
  list: [FileSystem.list("folder"), FileSystem.list("folder/sub")],
  writeText: [
    FileSystem.writeText("folder/file", "written"),
    FileSystem.writeText("folder/new", "written"),
    FileSystem.writeText("folder/new/er/file", "written")
  ],
  editText: [FileSystem.editText("folder/file", [{ find: "inside", replace: "edited" }])],
  remove: [
    FileSystem.remove("folder/file"),
    FileSystem.remove("folder/sub", { recursive: true }),
    FileSystem.remove("folder", { recursive: true })
  ],
  copy: [
    FileSystem.copy("folder/file", "copy"),
    FileSystem.copy("folder", "copy", { recursive: true }),
    FileSystem.copy("file", "folder/copy"),
    FileSystem.copy("file", "folder/file", { overwrite: true })
  ]
}

describe.skipIf(!isLinux)("NodeFileSystem, raced by another program", () => {
  for (const [name, runs] of Object.entries(operations)) {
    it.scoped(
      `${name}: a link that takes the place of the folder, behind any of its calls, leads nowhere`,
      () =>
        Effect.gen(function* () {
          const { assertUntouched, fill, folder, outside, root } = yield* makeWorld
          for (const run of runs) {
            let isReached = true
            for (let nth = 1; isReached; nth++) {
              fill()
              let calls = 0
              const swap = () =>
                Effect.sync(() => {
                  if (++calls !== nth || !fs.existsSync(folder)) return
                  fs.renameSync(folder, `${folder}.away`)
                  fs.symlinkSync(outside, folder)
                })
              const platform = new Platform({ after: swap }, "node")
              const exit = yield* Effect.exit(run.pipe(Cancellation.own, platform.provide(root)))
              isReached = calls >= nth
              assertUntouched(Exit.isSuccess(exit) ? exit.value : exit.cause)
              if (Exit.isFailure(exit)) assert.strictEqual(exit.cause._tag, "Fail", JSON.stringify(exit.cause))
            }
          }
        }),
      30_000
    )
  }

  it.scoped("an operation that can go on in the folder that it has found does, and says so where it cannot", () =>
    Effect.gen(function* () {
      const { folder, outside, root } = yield* makeWorld
      const swapAt = (method: string) => {
        let isSwapped = false
        return new Platform(
          {
            before: (called) =>
              Effect.sync(() => {
                if (called !== method || isSwapped) return
                isSwapped = true
                fs.renameSync(folder, `${folder}.away`)
                fs.symlinkSync(outside, folder)
              })
          },
          "node"
        )
      }
      const back = () => {
        fs.unlinkSync(folder)
        fs.renameSync(`${folder}.away`, folder)
      }
      const read = FileSystem.readText("folder/file").pipe(Cancellation.own)
      assert.strictEqual(yield* read.pipe(swapAt("open").provide(root)), "inside")
      back()
      const write = FileSystem.writeText("folder/file", "written").pipe(Cancellation.own, Effect.flip)
      const error = yield* write.pipe(swapAt("writeAll").provide(root))
      assert.strictEqual(
        error.message,
        'Cannot write "folder/file": a folder on its path was moved, or became a link. Check the path; a file can be read.'
      )
      assert.strictEqual(fs.readFileSync(`${folder}.away/file`, "utf8"), "inside")
      assert.deepStrictEqual(tree(`${folder}.away`), ["file", "sub", "sub/file"])
    })
  )

  it.scoped("a folder that takes the place of a staging folder is neither written to nor emptied through a link", () =>
    Effect.gen(function* () {
      const { assertUntouched, folder, outside, root } = yield* makeWorld
      const staging = () => {
        const name = fs.readdirSync(folder).find((entry) => entry.startsWith(".quiesce-"))
        return name === undefined ? undefined : path.join(folder, name)
      }
      for (const method of ["makeTempDirectory", "makeDirectory", "open", "writeAll", "sync", "rename"]) {
        let isSwapped = false
        const swap = (called: string) =>
          Effect.sync(() => {
            const place = staging()
            if (called !== method || isSwapped || place === undefined) return
            isSwapped = true
            fs.renameSync(place, path.join(root, "taken"))
            fs.symlinkSync(outside, place)
          })
        const platform = new Platform({ after: swap }, "node")
        const exit = yield* FileSystem.writeText("folder/new/file", "written").pipe(
          Cancellation.own,
          platform.provide(root),
          Effect.exit
        )
        assert.isTrue(isSwapped, method)
        // Swapped before it is entered, it is refused. From then on what is held is written to, wherever it is.
        assert.strictEqual(Exit.isFailure(exit), method === "makeTempDirectory", method)
        for (const name of ["taken", "folder/new"]) fs.rmSync(path.join(root, name), { recursive: true, force: true })
        assertUntouched(undefined)
      }
    })
  )

  it.scoped("a pipe that takes the place of a file, behind any of its calls, is not opened", () =>
    Effect.gen(function* () {
      const root = yield* makeFolder
      const file = path.join(root, "file")
      const makeFile = () => {
        fs.rmSync(file, { force: true })
        fs.writeFileSync(file, "inside")
      }
      const read = FileSystem.readText("file")
      const runs: ReadonlyArray<Effect.Effect<unknown, FileSystem.FileSystemError, Needs>> = [
        read,
        FileSystem.editText("file", [{ find: "inside", replace: "edited" }]),
        FileSystem.writeText("file", "written"),
        FileSystem.copy("file", "copy", { overwrite: true })
      ]
      for (const run of runs) {
        let isReached = true
        for (let nth = 1; isReached; nth++) {
          makeFile()
          let calls = 0
          const swap = () =>
            Effect.sync(() => {
              if (++calls !== nth) return
              fs.rmSync(file)
              makePipe(file)
            })
          const exit = yield* run.pipe(
            Cancellation.own,
            new Platform({ before: swap }, "node").provide(root),
            Effect.exit
          )
          isReached = calls >= nth
          if (Exit.isFailure(exit)) assert.strictEqual(exit.cause._tag, "Fail", JSON.stringify(exit.cause))
          else if (run === read) assert.strictEqual(exit.value, "inside")
        }
      }
      assert.isFalse(tree(root).some((name) => name.includes(".quiesce-")))
    })
  )

  it.scopedLive(
    "100 rounds of changes and reads against a program that swaps a folder for a link: nothing lands outside, nothing is left",
    () =>
      Effect.gen(function* () {
        const { assertUntouched, folder, outside, root } = yield* makeWorld
        const said: Array<unknown> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            const child = yield* swapping("folder", folder, outside)
            for (let round = 0; round < 100; round++) {
              const results = yield* Effect.forEach(
                [
                  FileSystem.writeText(`folder/new-${round}`, "written"),
                  FileSystem.writeText("folder/file", "written"),
                  FileSystem.editText("folder/file", [{ find: "written", replace: "written again" }]),
                  FileSystem.readText("folder/sub/file"),
                  FileSystem.list("folder/sub"),
                  FileSystem.copy("folder", `copy-${round}`, { recursive: true }),
                  FileSystem.remove(`folder/new-${round}`),
                  FileSystem.remove(`copy-${round}`, { recursive: true })
                ],
                (run) => Effect.exit(run.pipe(Cancellation.own)),
                { concurrency: 4 }
              )
              for (const exit of results) {
                if (Exit.isSuccess(exit)) said.push(exit.value)
                else assert.strictEqual(exit.cause._tag, "Fail", JSON.stringify(exit.cause))
              }
            }
            assert.isNull(child.exitCode)
          }).pipe(Effect.provide(NodeFileSystem.layer({ root })))
        )
        assertUntouched(said)
      }),
    60_000
  )

  it.scopedLive.each(["node", "nodeByPath"] as const)(
    "1000 reads against a program that swaps a file for a pipe: no thread of the host is blocked (%s)",
    (ground) =>
      Effect.gen(function* () {
        const root = yield* makeFolder
        const [file, pipe] = [path.join(root, "file"), path.join(root, "pipe")]
        fs.writeFileSync(file, "inside")
        fs.linkSync(file, `${file}.kept`)
        makePipe(pipe)
        // Should one be blocked all the same, it is let go when this ends.
        yield* Effect.addFinalizer(() => Effect.sync(() => fs.closeSync(fs.openSync(pipe, "r+"))))
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* swapping("pipe", file, pipe)
            const read = FileSystem.readText("file").pipe(Cancellation.own, Effect.exit)
            const exits = yield* Effect.all(
              Array.from({ length: 1000 }, () => read),
              { concurrency: 8 }
            )
            for (const exit of exits) {
              if (Exit.isSuccess(exit)) assert.strictEqual(exit.value, "inside")
              else assert.strictEqual(exit.cause._tag, "Fail", JSON.stringify(exit.cause))
            }
          }).pipe(new Platform({}, ground).provide(root))
        )
        const answered = yield* Deferred.make<void>()
        const reads = Array.from({ length: 4 }, () =>
          Effect.promise(() => fs.promises.readFile(`${file}.kept`, "utf8"))
        )
        yield* Effect.fork(
          Effect.zipRight(Effect.all(reads, { concurrency: 4 }), Deferred.succeed(answered, undefined))
        )
        yield* Deferred.await(answered).pipe(Effect.timeout("5 seconds"))
      }),
    60_000
  )
})
