import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { inPlace, interrupt } from "../support/place.js"
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

  it.live("no descriptor is left", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { stdoutFile = "" } = yield* place.bash("seq 1 2000", { maxOutputBytes: 10, spill: {} })
        const open = fs.readdirSync("/proc/self/fd").flatMap((fd) => {
          try {
            return [fs.readlinkSync(`/proc/self/fd/${fd}`)]
          } catch {
            return []
          }
        })
        assert.notInclude(open, stdoutFile)
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
