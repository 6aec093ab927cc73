import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import nodeFs, * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, type Scope } from "effect"
import { type AgentEvent, Session } from "quiesce"
import { NodeSession } from "quiesce/node"
import { makeFolder } from "../support/folder.js"
import { makePipe } from "../support/observedPlatform.js"

const turn = (turn: number): AgentEvent.AgentEvent => ({ _tag: "TurnStarted", turn })

const inFolder = <A, E>(body: (file: string, folder: string) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(makeFolder, (folder) => body(path.join(folder, "s.jsonl"), folder))).pipe(
    Effect.provide(Logger.remove(Logger.defaultLogger))
  )

const linesOf = (file: string): ReadonlyArray<AgentEvent.Envelope> =>
  fs
    .readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line))

const tagsOf = (log: ReadonlyArray<AgentEvent.Envelope>) => log.map(({ event }) => event._tag)

const use = <A>(file: string, body: (session: Session.Service) => A, sync: Session.SyncPolicy = "never") =>
  Effect.scoped(Effect.map(NodeSession.make({ file, sync }), body))

const refusedToOpen = (file: string) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(use(file, () => {}))
    assert.strictEqual(error.operation, "open")
    assert.strictEqual(error.session, file)
    assert.isTrue(error.message.startsWith(`Cannot open session "${file}"`), error.message)
    return error
  }).pipe(Effect.orDie)

const refusalOf = (step: () => unknown): Session.SessionError => {
  try {
    step()
  } catch (error) {
    if (error instanceof Session.SessionError) return error
    throw error
  }
  return assert.fail("nothing was refused")
}

const failure = (code: string): Error => Object.assign(new Error(`${code}: as the test wants it`), { code })

type Calls = Partial<Pick<typeof nodeFs, "fsyncSync" | "ftruncateSync" | "openSync" | "readFileSync">> & {
  readonly writeSync?: (descriptor: number, bytes: Uint8Array, offset: number, length?: number) => number
}

/** Puts other functions in the place of Node's. Gives back what restores them. */
const replaceDisk = (calls: Calls): (() => void) => {
  const before = Object.fromEntries(Object.keys(calls).map((name) => [name, nodeFs[name as keyof typeof nodeFs]]))
  Object.assign(nodeFs, calls)
  syncBuiltinESMExports()
  return () => {
    Object.assign(nodeFs, before)
    syncBuiltinESMExports()
  }
}

const withDisk = <A>(calls: Calls, body: () => A): A => {
  const restore = replaceDisk(calls)
  try {
    return body()
  } finally {
    restore()
  }
}

const onDisk = <A, E>(calls: Calls, effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    Effect.sync(() => replaceDisk(calls)),
    () => effect,
    (restore) => Effect.sync(restore)
  )

const { writeSync } = nodeFs

/** Writes the first half of each line, and then fails. */
const halfOf = (code: string) => (descriptor: number, bytes: Uint8Array, offset: number) => {
  if (offset > 0) throw failure(code)
  return writeSync(descriptor, bytes, 0, Math.floor(bytes.length / 2))
}

describe("NodeSession", () => {
  it.live("writes one line for each event, in the step in which it is appended, for this user only", () =>
    inFolder((file, folder) =>
      Effect.gen(function* () {
        yield* use(file, (session) => {
          const { seq } = session.append(turn(1))
          assert.strictEqual(linesOf(file).length, seq)
          assert.deepStrictEqual(linesOf(file), session.events())
          assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
          assert.deepStrictEqual(fs.readdirSync(folder), ["s.jsonl", "s.jsonl.lock"])
        })
        assert.deepStrictEqual(tagsOf(linesOf(file)), ["SessionStarted", "TurnStarted", "SessionClosed"])
        assert.deepStrictEqual(fs.readdirSync(folder), ["s.jsonl"])
      })
    )
  )

  it.live("opens what is there, as a layer, too", () =>
    inFolder((file) =>
      Effect.gen(function* () {
        yield* use(file, (session) => session.append(turn(3)))
        const layer = NodeSession.layer({ file, agent: "ignored" })
        const events = yield* Effect.provide(
          Effect.map(Session.Session, (session) => session.events()),
          layer
        )
        assert.deepStrictEqual(tagsOf(events), [
          "SessionStarted",
          "TurnStarted",
          "SessionClosed",
          "SessionReopened",
          "Repaired",
          "TurnEnded"
        ])
        assert.deepStrictEqual(linesOf(file).slice(0, 6), events)
      })
    )
  )

  it.live("cuts off a torn last line on the disk, and names the file and the line", () =>
    inFolder((file) =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.make(({ message }) => logged.push(String(message)))
        yield* use(file, () => {})
        fs.appendFileSync(file, `{"seq":3,"at":1`)
        yield* Effect.provide(
          use(file, () => {}),
          Logger.add(logger)
        )
        const what = "line 3 had not been written to its end, and was cut off (15 bytes)"
        assert.deepStrictEqual(logged, [`Session "${file}" was put in order: ${what}`])
        assert.deepStrictEqual(tagsOf(linesOf(file)).slice(2, 4), ["SessionReopened", "Repaired"])
      })
    )
  )

  describe("locked", () => {
    it.live("for a second session of this program, whatever the file is called there", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          yield* NodeSession.make({ file })
          const link = path.join(folder, "link.jsonl")
          fs.symlinkSync(file, link)
          for (const name of [file, path.join(folder, ".", "s.jsonl"), link]) {
            const error = yield* refusedToOpen(name)
            assert.strictEqual(error.reason, "Locked")
            assert.match(error.message, /: this program has it open already\. Close it there, or use another file\.$/)
          }
          assert.strictEqual(linesOf(file).length, 1)
        })
      )
    )

    it.live("by another program that lives", () =>
      inFolder((file) =>
        Effect.gen(function* () {
          const other = spawn("sleep", ["60"], { stdio: "ignore" })
          yield* Effect.addFinalizer(() => Effect.sync(() => other.kill("SIGKILL")))
          yield* use(file, () => {
            const lock = JSON.parse(fs.readFileSync(`${file}.lock`, "utf8"))
            fs.writeFileSync(
              `${file}.lock`,
              JSON.stringify({ ...lock, id: randomUUID(), pid: other.pid, startedAt: "" })
            )
          })
          const error = yield* refusedToOpen(file)
          assert.strictEqual(error.reason, "Locked")
          assert.include(error.message, `: process ${other.pid} on `)
          assert.include(error.message, `remove "${file}.lock"`)
        })
      )
    )

    it.live("by a lock file that says nothing", () =>
      inFolder((file) =>
        Effect.gen(function* () {
          fs.writeFileSync(`${file}.lock`, "")
          const error = yield* refusedToOpen(file)
          assert.strictEqual(error.reason, "Locked")
          assert.include(error.message, `If no program uses the session any more, remove "${file}.lock".`)
          assert.isFalse(fs.existsSync(file))
        })
      )
    )

    it.live("no longer when it could not be opened", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          fs.writeFileSync(file, "# Read me\n")
          assert.strictEqual((yield* refusedToOpen(file)).reason, "NotASession")
          assert.deepStrictEqual(fs.readdirSync(folder), ["s.jsonl"])
          assert.strictEqual(fs.readFileSync(file, "utf8"), "# Read me\n")
        })
      )
    )
  })

  describe("cannot be opened:", () => {
    it.live("in a folder that does not exist", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          const error = yield* refusedToOpen(path.join(folder, "none", "s.jsonl"))
          assert.strictEqual(error.reason, "NotFound")
          assert.match(
            error.message,
            /the folder that it should be in does not exist\. Make the folder, or check the path\.$/
          )
          fs.writeFileSync(file, "")
          assert.strictEqual((yield* refusedToOpen(path.join(file, "s.jsonl"))).reason, "NotFound")
        })
      )
    )

    it.live("a folder, a pipe, or a link to nothing, without waiting for anybody", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          const pipe = path.join(folder, "pipe")
          makePipe(pipe)
          const link = path.join(folder, "link")
          fs.symlinkSync(file, link)
          for (const name of [folder, pipe, link]) {
            const error = yield* refusedToOpen(name)
            assert.strictEqual(error.reason, "NotAFile")
            assert.match(error.message, /it is no regular file\. Name a file, or a path where there is nothing yet\.$/)
          }
          assert.deepStrictEqual(fs.readdirSync(folder).sort(), ["link", "pipe"])
          assert.isFalse(fs.existsSync(`${folder}.lock`))
        })
      )
    )

    for (const [code, reason] of [
      ["EACCES", "PermissionDenied"],
      ["EPERM", "PermissionDenied"],
      ["EROFS", "PermissionDenied"],
      ["EIO", "Unknown"]
    ] as const) {
      it.live(`where the system says ${code}`, () =>
        inFolder((file, folder) =>
          Effect.gen(function* () {
            yield* use(file, () => {})
            const { openSync } = nodeFs
            const refuse = (...args: Parameters<typeof openSync>) => {
              if (args[0] === file) throw failure(code)
              return openSync(...args)
            }
            const error = yield* onDisk({ openSync: refuse }, refusedToOpen(file))
            assert.strictEqual(error.reason, reason)
            assert.strictEqual((error.cause as { readonly code?: unknown }).code, code)
            assert.deepStrictEqual(fs.readdirSync(folder), ["s.jsonl"])
          })
        )
      )
    }

    it.live("when it cannot be read", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          const { readFileSync } = nodeFs
          const refuse = ((...args: Parameters<typeof readFileSync>) => {
            if (typeof args[0] === "number") throw failure("EIO")
            return readFileSync(...args)
          }) as typeof readFileSync
          const error = yield* onDisk({ readFileSync: refuse }, refusedToOpen(file))
          assert.strictEqual(error.reason, "Unknown")
          assert.deepStrictEqual(fs.readdirSync(folder), ["s.jsonl"])
        })
      )
    )
  })

  describe("an append that fails", () => {
    for (const [code, reason] of [
      ["ENOSPC", "NoSpace"],
      ["EDQUOT", "NoSpace"],
      ["EPERM", "PermissionDenied"],
      ["EIO", "Unknown"]
    ] as const) {
      it.live(`with ${code} leaves no half of a line behind, and can be tried again`, () =>
        inFolder((file) =>
          use(file, (session) => {
            const before = fs.readFileSync(file)
            const error = withDisk({ writeSync: halfOf(code) }, () => refusalOf(() => session.append(turn(1))))
            assert.strictEqual(error.reason, reason)
            assert.strictEqual(error.operation, "append")
            assert.isTrue(error.message.startsWith(`Cannot append to session "${file}": `))
            assert.deepStrictEqual(fs.readFileSync(file), before)
            session.append(turn(1))
            assert.deepStrictEqual(linesOf(file), session.events())
          })
        )
      )
    }

    it.live("where nothing can be cut off either: the next one does that first", () =>
      inFolder((file) =>
        use(file, (session) => {
          const refuse = () => {
            throw failure("EIO")
          }
          const before = fs.readFileSync(file)
          withDisk({ writeSync: halfOf("EIO"), ftruncateSync: refuse }, () => refusalOf(() => session.append(turn(1))))
          assert.isAbove(fs.readFileSync(file).length, before.length)
          // As long as that fails, nothing is written behind the half line.
          const torn = fs.readFileSync(file)
          withDisk({ ftruncateSync: refuse }, () => refusalOf(() => session.append(turn(1))))
          assert.deepStrictEqual(fs.readFileSync(file), torn)
          session.append(turn(1))
          assert.deepStrictEqual(linesOf(file), session.events())
        })
      )
    )

    it.live("cuts off nothing that another program has written meanwhile", () =>
      inFolder((file) =>
        use(file, (session) => {
          const refuse = () => {
            throw failure("EIO")
          }
          withDisk({ writeSync: halfOf("EIO"), ftruncateSync: refuse }, () => refusalOf(() => session.append(turn(1))))
          fs.appendFileSync(file, "x".repeat(1000))
          const size = fs.statSync(file).size
          const error = refusalOf(() => session.append(turn(1)))
          assert.match(error.message, /another program has changed it meanwhile/)
          assert.strictEqual(fs.statSync(file).size, size)
          fs.truncateSync(file, 10)
          assert.match(refusalOf(() => session.append(turn(1))).message, /another program has changed it meanwhile/)
          assert.strictEqual(fs.statSync(file).size, 10)
        })
      )
    )

    it.live("because nothing is written at all fails, instead of trying for good", () =>
      inFolder((file) =>
        use(file, (session) => {
          const error = withDisk({ writeSync: () => 0 }, () => refusalOf(() => session.append(turn(1))))
          assert.strictEqual(error.reason, "NoSpace")
        })
      )
    )
  })

  it.live("a line that the system takes in parts is whole", () =>
    inFolder((file) =>
      use(file, (session) => {
        const some = (descriptor: number, bytes: Uint8Array, offset: number) =>
          writeSync(descriptor, bytes, offset, Math.min(7, bytes.length - offset))
        withDisk({ writeSync: some }, () => session.append(turn(1)))
        assert.deepStrictEqual(linesOf(file), session.events())
      })
    )
  )

  describe("sync", () => {
    it.live("forces the file, and once the folder that it is new in", () =>
      inFolder((file, folder) =>
        Effect.gen(function* () {
          const { fsyncSync } = nodeFs
          const synced: Array<string> = []
          const watch = (descriptor: number) => {
            synced.push(fs.readlinkSync(`/proc/self/fd/${descriptor}`))
            fsyncSync(descriptor)
          }
          yield* use(file, (session) => withDisk({ fsyncSync: watch }, () => [session.sync(), session.sync()]))
          assert.deepStrictEqual(synced, [file, folder, file])
          synced.length = 0
          yield* use(file, (session) => withDisk({ fsyncSync: watch }, () => session.sync()))
          assert.deepStrictEqual(synced, [file])
        })
      )
    )

    it.live("that fails takes back the event, and ends the session", () =>
      inFolder((file) =>
        Effect.gen(function* () {
          yield* use(
            file,
            (session) => {
              const before = fs.readFileSync(file)
              const refuse = () => {
                throw failure("EIO")
              }
              const error = withDisk({ fsyncSync: refuse }, () => refusalOf(() => session.append(turn(1))))
              assert.strictEqual(error.reason, "Unknown")
              assert.deepStrictEqual(fs.readFileSync(file), before)
              assert.strictEqual(refusalOf(() => session.append(turn(1))).reason, "NotDurable")
            },
            "always"
          )
          assert.deepStrictEqual(yield* use(file, (session) => tagsOf(session.events())), [
            "SessionStarted",
            "SessionReopened"
          ])
        })
      )
    )
  })
})
