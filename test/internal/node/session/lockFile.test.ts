import { spawn } from "node:child_process"
import nodeFs, * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { type Holder, LockFile } from "../../../../src/internal/node/session/lockFile.js"
import { makeFolder } from "../../../support/folder.js"
import { waitUntil } from "../../../support/processes.js"

const inFolder = <A, E>(body: (lock: string, folder: string) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(makeFolder, (folder) => body(path.join(folder, "s.lock"), folder)))

const sync = (body: () => void) => Effect.sync(body)

const read = (file: string): Holder => JSON.parse(fs.readFileSync(file, "utf8"))

/** A lock of this process, changed. */
const leave = (file: string, change: Partial<Holder>): Holder => {
  const lock = new LockFile(file)
  assert.isUndefined(lock.acquire())
  const holder = { ...read(file), ...change }
  fs.writeFileSync(file, JSON.stringify(holder))
  return holder
}

/** The id of a process that has ended. */
const deadPid: Effect.Effect<number> = Effect.suspend(() => {
  const process = spawn("true", { stdio: "ignore" })
  return Effect.as(
    waitUntil(() => process.exitCode !== null),
    process.pid ?? 0
  )
})

const heldBy = (file: string): Holder | "unreadable" | undefined => new LockFile(file).acquire()

const takes = (file: string, folder: string, before: Holder): void => {
  const lock = new LockFile(file)
  assert.isUndefined(lock.acquire())
  assert.notStrictEqual(read(file).id, before.id)
  assert.strictEqual(read(file).pid, process.pid)
  assert.deepStrictEqual(fs.readdirSync(folder), ["s.lock"])
  lock.release()
  assert.deepStrictEqual(fs.readdirSync(folder), [])
}

describe("lockFile", () => {
  it.live("one at a time holds it", () =>
    inFolder((file, folder) =>
      sync(() => {
        const first = new LockFile(file)
        const second = new LockFile(file)
        assert.isUndefined(first.acquire())
        const holder = second.acquire()
        assert.deepStrictEqual(holder, read(file))
        assert.isTrue(holder !== undefined && holder !== "unreadable" && LockFile.isHeldHere(holder))
        second.release() // not its own
        assert.deepStrictEqual(fs.readdirSync(folder), ["s.lock"])
        first.release()
        assert.isUndefined(second.acquire())
        assert.deepStrictEqual(fs.readdirSync(folder), ["s.lock"])
      })
    )
  )

  it.live("K1: it is whole from its first moment", () =>
    inFolder((file) =>
      sync(() => {
        const seen: Array<boolean> = []
        const { linkSync, writeFileSync } = nodeFs
        const look = () => seen.push(fs.existsSync(file))
        nodeFs.writeFileSync = (...args) => {
          writeFileSync(...args)
          look()
        }
        nodeFs.linkSync = (...args) => {
          linkSync(...args)
          look()
          assert.strictEqual(read(file).pid, process.pid)
        }
        syncBuiltinESMExports()
        try {
          assert.isUndefined(new LockFile(file).acquire())
        } finally {
          Object.assign(nodeFs, { linkSync, writeFileSync })
          syncBuiltinESMExports()
        }
        assert.deepStrictEqual(seen, [false, true])
      })
    )
  )

  it.live("K2: a holder that is gone is taken over from", () =>
    inFolder((file, folder) =>
      Effect.map(deadPid, (pid) => {
        takes(file, folder, leave(file, { pid }))
        // Where the system tells nothing but that.
        takes(file, folder, leave(file, { pid, startedAt: "" }))
        // Another process that was given its number.
        takes(file, folder, leave(file, { startedAt: `${read.length} 1` }))
      })
    )
  )

  it.live("K2: a holder that lives, or of which nobody knows, is not", () =>
    inFolder((file) =>
      Effect.map(deadPid, (pid) => {
        for (const change of [{}, { startedAt: "" }, { pid, host: "elsewhere" }, { pid, machine: "another" }]) {
          const holder = leave(file, change)
          assert.deepStrictEqual(heldBy(file), holder)
          assert.deepStrictEqual(read(file), holder)
          fs.rmSync(file)
        }
        for (const text of ["", "garbage", `{"id":"../x","pid":1}`]) {
          fs.writeFileSync(file, text)
          assert.strictEqual(heldBy(file), "unreadable")
          assert.strictEqual(fs.readFileSync(file, "utf8"), text)
        }
      })
    )
  )

  it.live("K3: who takes over looks again, and leaves alone who has come first", () =>
    inFolder((file, folder) =>
      Effect.map(deadPid, (pid) => {
        const gone = leave(file, { pid })
        const rival = new LockFile(file)
        const { linkSync } = nodeFs
        let isFirst = true
        nodeFs.linkSync = (from, to) => {
          // The rival is quicker, between the look at the holder and the lock on taking over.
          if (isFirst && String(to).endsWith(".gone")) {
            isFirst = false
            assert.isUndefined(rival.acquire())
          }
          linkSync(from, to)
        }
        syncBuiltinESMExports()
        let found: ReturnType<typeof heldBy>
        try {
          found = heldBy(file)
        } finally {
          nodeFs.linkSync = linkSync
          syncBuiltinESMExports()
        }
        assert.isFalse(isFirst)
        assert.deepStrictEqual(found, read(file))
        assert.notStrictEqual(read(file).id, gone.id)
        assert.deepStrictEqual(fs.readdirSync(folder), ["s.lock"])
        rival.release()
        assert.deepStrictEqual(fs.readdirSync(folder), [])
      })
    )
  )

  it.live("K3: one that is being taken over is left to who does, unless that one is gone, too", () =>
    inFolder((file, folder) =>
      Effect.map(deadPid, (pid) => {
        const gone = leave(file, { pid })
        const takeover = `${file}.${gone.id}.gone`
        const rival = leave(takeover, {})
        assert.deepStrictEqual(heldBy(file), rival)
        assert.deepStrictEqual(read(file), gone)
        fs.writeFileSync(takeover, JSON.stringify({ ...rival, pid }))
        takes(file, folder, gone)
      })
    )
  )

  it.live("works where the file system has no links", () =>
    inFolder((file, folder) =>
      sync(() => {
        const refuse = vi.spyOn(nodeFs, "linkSync").mockImplementation(() => {
          throw Object.assign(new Error("no links"), { code: "EPERM" })
        })
        syncBuiltinESMExports()
        try {
          const lock = new LockFile(file)
          assert.isUndefined(lock.acquire())
          assert.deepStrictEqual(heldBy(file), read(file))
          lock.release()
          assert.deepStrictEqual(fs.readdirSync(folder), [])
        } finally {
          refuse.mockRestore()
          syncBuiltinESMExports()
        }
      })
    )
  )

  it.live("throws what the file system throws, and leaves nothing behind", () =>
    inFolder((file, folder) =>
      sync(() => {
        assert.throws(() => new LockFile(path.join(folder, "none", "s.lock")).acquire(), /ENOENT/)
        const refuse = vi.spyOn(nodeFs, "linkSync").mockImplementation(() => {
          throw Object.assign(new Error("disk"), { code: "EIO" })
        })
        syncBuiltinESMExports()
        try {
          assert.throws(() => new LockFile(file).acquire(), /disk/)
          assert.deepStrictEqual(fs.readdirSync(folder), [])
        } finally {
          refuse.mockRestore()
          syncBuiltinESMExports()
        }
      })
    )
  )
})
