/**
 * Reads who is alive from the system's table of processes.
 *
 * Invariants
 *
 * T1. A zombie is not alive: it runs nothing, and in a container without a reaper it stays for good. A zombie leader of
 *     threads that still run is.
 * T2. A group is never called gone because it was looked at while it forked: between two reads of `/proc` a member can
 *     hand over to a child that the reads have passed. So a look that finds only zombies must be confirmed by a second.
 * T3. A look is cheap while something lives: one system call and one file, not the whole table.
 *
 * Linux says all of this in `/proc`. Elsewhere there is only signal 0, which counts zombies as alive and names nobody.
 */
import * as fs from "node:fs"

/** One process, as `/proc/<pid>/stat` describes it. */
/** @internal */
export interface Entry {
  readonly pid: number
  readonly name: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** With the pid, this identifies a process for as long as the machine runs. */
  readonly startedAt: string
  readonly isAlive: boolean
}

/**
 * What was read, if it could be.
 *
 * @internal
 */
export const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined // It has ended meanwhile, or belongs to somebody else.
  }
}

/**
 * What is known of one process.
 *
 * @internal
 */
export const lookUp = (pid: number | string): Entry | undefined => {
  const stat = attempt(() => fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
  if (stat === undefined) return undefined
  // The name may contain anything, closing brackets too: what follows the last one has fixed places (proc(5)).
  const end = stat.lastIndexOf(")")
  const fields = stat.slice(end + 2).split(" ")
  const state = fields[0] ?? "X"
  return {
    pid: Number(pid),
    name: stat.slice(stat.indexOf("(") + 1, end),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startedAt: fields[19] ?? "",
    isAlive: !/[ZXx]/.test(state) || Number(fields[17]) > 1 // T1
  }
}

const hasTable = (): boolean => lookUp("self") !== undefined

/**
 * Every process that there is.
 *
 * @internal
 */
export const lookUpAll = (): ReadonlyArray<Entry> =>
  (attempt(() => fs.readdirSync("/proc")) ?? []).flatMap((name) => (/^\d/.test(name) ? (lookUp(name) ?? []) : []))

/**
 * The members of one process group.
 *
 * @internal
 */
export class Members {
  private readonly group: number
  private known: ReadonlyArray<Entry> = []
  private sawOnlyZombies = false

  constructor(group: number) {
    this.group = group
  }

  /** Whether there is anybody that a signal could reach. */
  get exist(): boolean {
    try {
      return process.kill(-this.group, 0)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EPERM" // there, and not ours to signal
    }
  }

  get anyAlive(): boolean {
    if (!this.exist) return false
    if (!hasTable()) return true
    if (this.known.some(({ pid }) => this.isMember(lookUp(pid)))) return true // T3
    this.known = this.alive ?? []
    if (this.known.length > 0) {
      this.sawOnlyZombies = false
      return true
    }
    const confirmed = this.sawOnlyZombies
    this.sawOnlyZombies = true
    return !confirmed // T2
  }

  /** Who lives, where the system tells. */
  get alive(): ReadonlyArray<Entry> | undefined {
    return hasTable() ? lookUpAll().filter((entry) => this.isMember(entry)) : undefined
  }

  /** Whether the leader is a zombie. Not asked after its exit was seen. */
  get leaderHasEnded(): boolean {
    return lookUp(this.group)?.isAlive === false
  }

  /**
   * Processes that the group has started and that have left it, as far as parentage and session still tell. Parentage is
   * lost when a parent ends, so this is asked before anything is signalled.
   */
  get leavers(): ReadonlyArray<Entry> {
    const all = lookUpAll()
    const tree = new Set([this.group])
    let size = 0
    while (size < tree.size) {
      size = tree.size
      for (const { pid, parent, group, session } of all) {
        if (group === this.group || session === this.group || tree.has(parent)) tree.add(pid)
      }
    }
    return all.filter(({ pid, group, isAlive }) => isAlive && tree.has(pid) && group !== this.group)
  }

  private isMember(entry: Entry | undefined): boolean {
    return entry?.isAlive === true && entry.group === this.group
  }
}

/**
 * What that very process, and not another one with its pid, is now, if it is still alive. (It may have a new name.)
 *
 * @internal
 */
export const stillAlive = ({ pid, startedAt }: Entry): Entry | undefined => {
  const now = lookUp(pid)
  return now?.isAlive === true && now.startedAt === startedAt ? now : undefined
}

const linkOf = (pid: number | string, fd: number | string): string | undefined =>
  attempt(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`))

/**
 * The names of the pipes that a process has for its output. Asked right after its start, when they still are ours.
 *
 * @internal
 */
export const outputPipes = (pid: number): ReadonlySet<string> =>
  new Set([1, 2].flatMap((fd) => linkOf(pid, fd) ?? []).filter((link) => /^(?:socket|pipe):/.test(link)))

/**
 * Who holds one of these pipes open. Looks at every open file of every process: only for the rare end that needs it.
 *
 * @internal
 */
export const holdersOf = (pipes: ReadonlySet<string>): ReadonlyArray<Entry> =>
  pipes.size === 0
    ? []
    : lookUpAll().filter(
        ({ pid, isAlive }) =>
          isAlive &&
          attempt(() => fs.readdirSync(`/proc/${pid}/fd`))?.some((fd) => pipes.has(linkOf(pid, fd) ?? "")) === true
      )
