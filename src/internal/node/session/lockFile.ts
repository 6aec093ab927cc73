/**
 * Keeps other processes out, by a file.
 *
 * Node has no lock that ends with its process, so the file says who holds it, and a holder that is gone is taken over from.
 *
 * Invariants
 *
 * K1. A lock file is whole from its first moment: it is written under another name and then linked to its own.
 * K2. A holder is called gone only on the machine, and among the processes, that it ran on: the process does not exist, or
 *     it is another one that was given the same number.
 * K3. Of those who find the same holder gone one takes over: who gets the lock on that. It looks again when it has it, so
 *     nobody takes over from somebody who has just come.
 */
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { attempt, lookUp } from "../processTable.js"

/** Who holds a lock. */
const Holder = Schema.Struct({
  id: Schema.UUID,
  pid: Schema.Int,
  host: Schema.String,
  /** Tells machines with one name apart, and containers on one machine, as far as the system says. */
  machine: Schema.String,
  /** With the pid, this identifies a process. Empty where the system does not tell. */
  startedAt: Schema.String
})

/** @internal */
export type Holder = typeof Holder.Type

const decode = Schema.decodeUnknownOption(Schema.parseJson(Holder))

const readText = (file: string): string => attempt(() => fs.readFileSync(file, "utf8").trim()) ?? ""
const machine = (): string =>
  [readText("/etc/machine-id"), attempt(() => fs.readlinkSync("/proc/self/ns/pid")) ?? ""].join(" ")
const startOf = (pid: number): string | undefined => {
  const entry = lookUp(pid)
  return entry?.isAlive === true ? `${readText("/proc/sys/kernel/random/boot_id")} ${entry.startedAt}` : undefined
}

const self = (): Holder => ({
  id: randomUUID(),
  pid: process.pid,
  host: os.hostname(),
  machine: machine(),
  startedAt: startOf(process.pid) ?? ""
})

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === "EPERM" // there, and not ours
  }
}

const isGone = (holder: Holder): boolean => {
  if (holder.host !== os.hostname() || holder.machine !== machine()) return false // K2
  return holder.startedAt === "" ? !exists(holder.pid) : startOf(holder.pid) !== holder.startedAt
}

/** A file that is no lock of ours, or cannot be read: nobody can say that its holder is gone. */
type Found = Holder | "unreadable" | "nothing"

const look = (path: string): Found => {
  try {
    return Option.getOrElse(decode(fs.readFileSync(path, "utf8")), () => "unreadable" as const)
  } catch (error) {
    return codeOf(error) === "ENOENT" ? "nothing" : "unreadable"
  }
}

const withoutLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"])

/** Whether the lock was free, and is now ours. */
const claim = (path: string, own: string, text: string): boolean => {
  try {
    try {
      fs.linkSync(own, path) // K1
    } catch (error) {
      if (!withoutLinks.has(codeOf(error) ?? "")) throw error
      fs.writeFileSync(path, text, { flag: "wx", mode: 0o600 })
    }
    return true
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw error
  }
}

/** Who holds the lock, where somebody does and it could not be taken over. Else it is `holder`'s. */
const acquire = (path: string, holder: Holder): Holder | "unreadable" | undefined => {
  const own = `${path}.${holder.id}`
  const text = JSON.stringify(holder)
  fs.writeFileSync(own, text, { flag: "wx", mode: 0o600 })
  try {
    while (!claim(path, own, text)) {
      const other = look(path)
      if (other === "nothing") continue // released meanwhile
      if (other === "unreadable" || !isGone(other)) return other
      const takeover = `${path}.${other.id}.gone`
      const rival = acquire(takeover, { ...holder, id: randomUUID() }) // K3
      if (rival !== undefined) return rival
      try {
        const now = look(path)
        if (typeof now === "object" && now.id === other.id) {
          fs.renameSync(own, path)
          return undefined
        }
      } finally {
        fs.rmSync(takeover, { force: true })
      }
    }
    return undefined
  } finally {
    fs.rmSync(own, { force: true })
  }
}

/** @internal */
export class LockFile {
  readonly path: string
  private readonly holder = self()

  constructor(path: string) {
    this.path = path
  }

  /** Whether it is this process that is named. */
  static isHeldHere({ host, machine: where, pid, startedAt }: Holder): boolean {
    const here = self()
    return host === here.host && where === here.machine && pid === here.pid && startedAt === here.startedAt
  }

  /** Takes the lock, or says who holds it. Throws what the file system throws. */
  acquire(): Holder | "unreadable" | undefined {
    return acquire(this.path, this.holder)
  }

  /** Gives the lock back, if it is still ours. */
  release(): void {
    const found = look(this.path)
    if (typeof found === "object" && found.id === this.holder.id) fs.rmSync(this.path, { force: true })
  }
}
