import nodeFs, * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Array as Arr, Effect, Exit, Fiber, Logger } from "effect"
import * as Process from "quiesce/capability/Process"
import { grace, inPlace, interrupt } from "../support/place.js"
import { waitUntil } from "../support/processes.js"

/** Where the layer of a test puts what overflows: nobody else's files are in it. */
const privateTemp = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-spill-"))
    vi.stubEnv("TMPDIR", folder)
    return folder
  }),
  (folder) =>
    Effect.sync(() => {
      vi.unstubAllEnvs()
      fs.rmSync(folder, { recursive: true })
    })
)

const filesIn = (folder: string): ReadonlyArray<string> =>
  fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".txt"))

/** The files that this process has open, of those below a path. */
const openFiles = (below: string): ReadonlyArray<string> =>
  fs.readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
      return file.startsWith(below) ? [file] : []
    } catch {
      return []
    }
  })

/** A disk that removes nothing whose path contains `name`. */
const refuseToRemove = (name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { rmSync } = nodeFs
      const spy = vi.spyOn(nodeFs, "rmSync").mockImplementation((file, options) => {
        if (String(file).includes(name)) throw new Error("the disk refuses")
        rmSync(file, options)
      })
      syncBuiltinESMExports()
      return spy
    }),
    (spy) =>
      Effect.sync(() => {
        spy.mockRestore()
        syncBuiltinESMExports()
      })
  )

describe("spilled output", () => {
  it.live("a stream that overflows is in a private file, whole, and the other one in memory", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash("seq 1 2000; echo few >&2", { maxOutputBytes: 100, spill: {} })
        const whole = Array.from({ length: 2000 }, (_, i) => `${i + 1}\n`).join("")
        assert.deepInclude(result, { stdout: whole.slice(0, 100), stdoutTruncated: true, stderr: "few\n" })
        assert.isUndefined(result.stderrFile)
        const file = result.stdoutFile ?? ""
        assert.strictEqual(fs.readFileSync(file, "utf8"), whole)
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
        assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
      })
    )
  )

  it.live("what fits is in no file, and neither is what overflows where nobody asked for it", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const fits = yield* place.bash("printf 0123456789", { maxOutputBytes: 10, spill: {} })
        assert.deepInclude(fits, { stdout: "0123456789", stdoutTruncated: false, stdoutFile: undefined })
        const dropped = yield* place.bash("printf 0123456789", { maxOutputBytes: 9 })
        assert.deepInclude(dropped, { stdoutTruncated: true, stdoutFile: undefined })
      })
    )
  )

  it.live("the file has a limit of its own, and the command runs to its end", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { exitCode, stdoutFile } = yield* place.bash("head -c 300000 /dev/zero; exit 5", {
          maxOutputBytes: 10,
          spill: { maxBytes: 100_001 }
        })
        assert.strictEqual(exitCode, 5)
        assert.strictEqual(fs.statSync(stdoutFile ?? "").size, 100_001)
      })
    )
  )

  it.live("files live as long as the layer, those of a cancelled command not even that", () =>
    Effect.gen(function* () {
      const folder = yield* privateTemp
      const file = yield* inPlace((place) =>
        Effect.gen(function* () {
          const flood = "seq 1 2000; echo $$ >flooded; sleep 60"
          const fiber = yield* Effect.fork(place.bash(flood, { maxOutputBytes: 10, spill: {} }))
          yield* place.written("flooded")
          yield* waitUntil(() => filesIn(folder).length === 1)
          yield* interrupt(fiber)
          assert.deepStrictEqual(filesIn(folder), [])
          const { stdoutFile = "" } = yield* place.bash("seq 1 2000", { maxOutputBytes: 10, spill: {} })
          assert.isTrue(fs.existsSync(stdoutFile))
          return stdoutFile
        })
      )
      assert.isFalse(fs.existsSync(file))
      assert.deepStrictEqual(
        fs.readdirSync(folder).filter((name) => name.startsWith("quiesce-output-")),
        []
      )
    }).pipe(Effect.scoped)
  )

  it.live("a session writes that of each command to files of its own, and none where nobody got the result", () =>
    Effect.gen(function* () {
      const folder = yield* privateTemp
      const file = yield* inPlace((place) =>
        Effect.gen(function* () {
          const options = { cwd: place.folder, maxOutputBytes: 10, spill: { maxBytes: 5000 }, grace } as const
          const session = yield* Process.openSession(options)
          const whole = Array.from({ length: 1000 }, (_, i) => `${i + 1}\n`).join("")
          const first = yield* session.send("seq 1 1000; echo few >&2")
          assert.deepInclude(first, { stdout: "1\n2\n3\n4\n5\n", stdoutTruncated: true, stderrFile: undefined })
          assert.strictEqual(fs.readFileSync(first.stdoutFile ?? "", "utf8"), whole)
          const second = yield* session.send("seq 1 9999 >&2")
          assert.strictEqual(place.size(second.stderrFile), 5000)
          assert.strictEqual(fs.readFileSync(first.stdoutFile ?? "", "utf8"), whole)
          assert.deepInclude(yield* session.send("printf 0123456789"), {
            stdoutTruncated: false,
            stdoutFile: undefined
          })
          const stopped = yield* session.send("seq 1 1000; sleep 60", { timeout: "200 millis" })
          assert.strictEqual(fs.readFileSync(stopped.stdoutFile ?? "", "utf8"), whole)
          assert.lengthOf(filesIn(folder), 3)

          const interrupted = yield* Effect.fork(session.send("seq 1 1000; echo 1 >flooded; sleep 60"))
          yield* place.written("flooded")
          yield* waitUntil(() => filesIn(folder).length === 4)
          yield* interrupt(interrupted)
          assert.lengthOf(filesIn(folder), 3)
          const error = yield* Effect.flip(session.send("seq 1 1000; exit 4"))
          assert.strictEqual(error.reason, "SessionEnded")
          assert.lengthOf(filesIn(folder), 3)
          assert.deepStrictEqual(openFiles(folder), [])
          return first.stdoutFile ?? ""
        })
      )
      assert.isFalse(fs.existsSync(file))
    }).pipe(Effect.scoped)
  )

  it.live("what cannot be removed is logged, and disturbs nobody", () =>
    Effect.gen(function* () {
      const folder = yield* privateTemp
      yield* refuseToRemove("quiesce-output-")
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(...Arr.ensure(message)))
      const program = inPlace((place) =>
        Effect.gen(function* () {
          const flood = "seq 1 2000; echo $$ >flooded; sleep 60"
          const fiber = yield* Effect.fork(place.bash(flood, { maxOutputBytes: 10, spill: {} }))
          yield* place.written("flooded")
          yield* waitUntil(() => filesIn(folder).length === 1)
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
          assert.deepStrictEqual(openFiles(folder), [])
        })
      )
      yield* Effect.provide(program, Logger.replace(Logger.defaultLogger, logger))
      yield* Effect.yieldNow()
      assert.match(String(logged[0]), /^The file with output of a command .*1\.txt could not be removed/)
      assert.match(String(logged[1]), /^The folder with output of commands .*quiesce-output-.* could not be removed/)
    }).pipe(Effect.scoped)
  )

  it.live("no descriptor is left", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { stdoutFile = "" } = yield* place.bash("seq 1 2000", { maxOutputBytes: 10, spill: {} })
        assert.deepStrictEqual(openFiles(stdoutFile), [])
      })
    )
  )

  it.live("when the disk refuses, there is no file, and the command is not disturbed", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const folder = yield* privateTemp
        vi.stubEnv("TMPDIR", path.join(folder, "missing"))
        const result = yield* place.bash("seq 1 2000; exit 4", { maxOutputBytes: 10, spill: {} })
        assert.deepInclude(result, { exitCode: 4, stdoutTruncated: true, stdoutFile: undefined })
      })
    )
  )

  it.live("limits that cannot be are refused before anything is started", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(place.bash("true", { spill: { maxBytes: -1 } }))
        assert.deepInclude(error, { reason: "InvalidOptions", detail: "spill.maxBytes must be 0 or more, not -1" })
      })
    )
  )
})
