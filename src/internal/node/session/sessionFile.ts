/**
 * A session's storage in a file: lines of JSON, appended in the step in which they are made.
 *
 * Invariants
 *
 * N1. One process at a time appends, and one session of it (see `lockFile.ts`).
 * N2. The file holds whole lines. What was begun and not finished is cut off at once, or, where the disk refuses that, before
 *     anything else is written.
 * N3. Nothing that was not written by this session is cut off here.
 */
import * as fs from "node:fs"
import * as nodePath from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Session from "../../../Session.js"
import { attempt } from "../processTable.js"
import { type Holder, LockFile } from "./lockFile.js"

const reasons: { readonly [code: string]: Session.Reason } = {
  ENOENT: "NotFound",
  ENOTDIR: "NotFound",
  EISDIR: "NotAFile",
  ELOOP: "NotAFile",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EROFS: "PermissionDenied",
  ENOSPC: "NoSpace",
  EDQUOT: "NoSpace"
}

type Operation = Session.SessionError["operation"]

const failed = (operation: Operation, session: string, cause: unknown): Session.SessionError => {
  if (cause instanceof Session.SessionError) return cause
  const reason = reasons[(cause as NodeJS.ErrnoException).code ?? ""] ?? "Unknown"
  return new Session.SessionError({ operation, session, reason, cause })
}

const lockedBy = (session: string, lock: string, holder: Holder | "unreadable"): Session.SessionError => {
  const locked = { operation: "open", session, reason: "Locked" } as const
  const ifGone = `If no program uses the session any more, remove "${lock}"`
  if (holder === "unreadable") {
    const detail = `its lock file "${lock}" does not say who holds it`
    return new Session.SessionError({ ...locked, detail, advice: ifGone })
  }
  if (LockFile.isHeldHere(holder)) {
    return new Session.SessionError({ ...locked, detail: "this program has it open already" })
  }
  const detail = `process ${holder.pid} on ${holder.host} has it open`
  return new Session.SessionError({ ...locked, detail, advice: `Close it there, or use another file. ${ifGone}` })
}

/** The one path that a file has, whatever links lead to it, also if it is still to be made. */
const realPath = (file: string): string =>
  attempt(() => fs.realpathSync(file)) ??
  nodePath.join(fs.realpathSync(nodePath.dirname(nodePath.resolve(file))), nodePath.basename(file))

const refuseOthers = (session: string, stats: fs.Stats | undefined): void => {
  if (stats !== undefined && !stats.isFile()) {
    throw new Session.SessionError({ operation: "open", session, reason: "NotAFile" })
  }
}

// A link that leads nowhere would give one file two locks, and a pipe would wait for somebody to write to it.
const flags = fs.constants.O_RDWR | fs.constants.O_APPEND | fs.constants.O_CREAT
const carefully = (fs.constants.O_NOFOLLOW ?? 0) | (fs.constants.O_NONBLOCK ?? 0)

class SessionFile implements Session.Storage {
  readonly name: string
  readonly contents: Uint8Array
  private readonly path: string
  private readonly lock: LockFile
  private readonly descriptor: number
  /** How many bytes of whole lines it holds. */
  private length: number
  /** How many bytes may stand behind them. */
  private torn = 0
  private isFolderSynced: boolean

  constructor(name: string) {
    this.name = name
    this.path = realPath(name)
    const before = fs.statSync(this.path, { throwIfNoEntry: false })
    refuseOthers(name, before)
    this.lock = new LockFile(`${this.path}.lock`)
    const holder = this.lock.acquire() // N1
    if (holder !== undefined) throw lockedBy(name, this.lock.path, holder)
    let descriptor: number | undefined
    try {
      descriptor = fs.openSync(this.path, flags | carefully, 0o600)
      refuseOthers(name, fs.fstatSync(descriptor))
      this.contents = fs.readFileSync(descriptor)
    } catch (error) {
      if (descriptor !== undefined) fs.closeSync(descriptor)
      this.lock.release()
      throw error
    }
    this.descriptor = descriptor
    this.length = this.contents.length
    this.isFolderSynced = before !== undefined
  }

  append(line: Uint8Array): void {
    try {
      this.mend() // N2
      this.torn = line.length
      for (let written = 0; written < line.length; ) {
        const count = fs.writeSync(this.descriptor, line, written)
        if (count === 0) throw Object.assign(new Error("nothing was written"), { code: "ENOSPC" })
        written += count
      }
    } catch (error) {
      attempt(() => this.mend()) // what it cannot do now it does before the next line
      throw failed("append", this.name, error)
    }
    this.length += line.length
    this.torn = 0
  }

  cut(length: number): void {
    try {
      this.torn += this.length - length
      this.length = length
      this.mend()
    } catch (error) {
      throw failed("append", this.name, error)
    }
  }

  sync(): void {
    try {
      fs.fsyncSync(this.descriptor)
      this.syncFolder()
    } catch (error) {
      throw failed("sync", this.name, error)
    }
  }

  close(): void {
    fs.closeSync(this.descriptor)
    this.lock.release()
  }

  /** Cuts off what stands behind the whole lines. */
  private mend(): void {
    if (this.torn === 0) return
    const { size } = fs.fstatSync(this.descriptor)
    if (size < this.length || size > this.length + this.torn) {
      const detail = "another program has changed it meanwhile"
      throw new Session.SessionError({ operation: "append", session: this.name, reason: "Unknown", detail }) // N3
    }
    fs.ftruncateSync(this.descriptor, this.length)
    this.torn = 0
  }

  // A new file survives a loss of power once its folder does. Some systems sync no folders.
  private syncFolder(): void {
    if (this.isFolderSynced) return
    this.isFolderSynced = true
    attempt(() => {
      const folder = fs.openSync(nodePath.dirname(this.path), "r")
      try {
        fs.fsyncSync(folder)
      } finally {
        fs.closeSync(folder)
      }
    })
  }
}

/**
 * Opens a file as a session's storage, or makes it. With the scope it is closed, and given back.
 *
 * @internal
 */
export const openSessionFile = (name: string): Effect.Effect<Session.Storage, Session.SessionError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({ try: () => new SessionFile(name), catch: (error) => failed("open", name, error) }),
    (file) => Effect.sync(() => file.close())
  )
