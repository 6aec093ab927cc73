/**
 * Finds the processes of a tree by a mark in their environment, in its process group or out of it.
 *
 * Invariants
 *
 * M1. A process is ours if and only if its own environment carries the mark: nothing is inferred, and nobody else is
 *     signalled. It is identified by its pid and its start, and looked at again right before it is signalled.
 * M2. Each process is sent each signal once at most: a second SIGTERM would run traps again.
 * M3. Nobody is left is said after two looks only: between two reads of a look a process can hand over to a child that the
 *     look has passed, and while it replaces its program its environment reads as empty.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { attempt, type Entry, lookUp, lookUpAll, stillAlive } from "./processTable.js"

const variable = "QUIESCE_TREE"

/**
 * An unguessable mark.
 *
 * @internal
 */
export const makeMark = (): string => randomBytes(16).toString("hex")

/**
 * The environment of a tree with that mark. Marks of programs that run this one are kept: we are of their trees, too.
 *
 * @internal
 */
export const markedEnvironment = (mark: string | undefined): Readonly<Record<string, string>> => {
  const { [variable]: outer } = process.env
  const marks = [outer, mark].filter((part) => part !== undefined && part !== "")
  return marks.length === 0 ? {} : { [variable]: marks.join(":") }
}

/**
 * Whether environments can be read here at all.
 *
 * @internal
 */
export const canFindMarked = (): boolean => attempt(() => fs.readFileSync("/proc/self/environ", "latin1")) !== undefined

const keyOf = ({ pid, startedAt }: Entry): string => `${pid} ${startedAt}`

/** @internal */
export class Marked {
  private readonly group: number
  private readonly mark: string
  /** Nobody of the tree is older than its leader, and to look at a start is cheaper than to read an environment. */
  private readonly since: number
  private known: ReadonlyArray<Entry> = []
  private sawNobody = false
  private urgency: "SIGTERM" | "SIGKILL" | undefined
  private readonly told = new Map<string, string>()

  /** Must be called while the leader exists. */
  constructor(group: number, mark: string) {
    this.group = group
    this.mark = mark
    this.since = Number(lookUp(group)?.startedAt ?? 0)
  }

  /** Whether somebody lives that has left the group. */
  get anyAlive(): boolean {
    if (this.known.some((entry) => stillAlive(entry) !== undefined)) return true
    this.known = this.look()
    if (this.known.length > 0) {
      this.sawNobody = false
      return true
    }
    const confirmed = this.sawNobody
    this.sawNobody = true
    return !confirmed // M3
  }

  /** Who lives and has left the group. */
  get alive(): ReadonlyArray<Entry> {
    return this.look()
  }

  /** Signals those that have left the group, and from now on those that are found later. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    this.urgency = name
    this.known = this.look()
  }

  carries({ pid }: Entry): boolean {
    const environment = attempt(() => fs.readFileSync(`/proc/${pid}/environ`, "latin1")) ?? ""
    const line = environment.split("\0").find((line) => line.startsWith(`${variable}=`)) ?? ""
    const marks = line.slice(variable.length + 1).split(":")
    return marks.includes(this.mark) // M1
  }

  private look(): ReadonlyArray<Entry> {
    const marked = lookUpAll().filter(
      (entry) => entry.isAlive && Number(entry.startedAt) >= this.since && this.carries(entry)
    )
    for (const entry of marked) this.tell(entry)
    return marked.filter(({ group }) => group !== this.group)
  }

  private tell(entry: Entry): void {
    const { urgency } = this
    if (urgency === undefined || this.told.get(keyOf(entry)) === urgency) return // M2
    this.told.set(keyOf(entry), urgency)
    // Who is in the group hears of it with the group, and must not be told again should it leave that now.
    if (entry.group === this.group || stillAlive(entry) === undefined) return // M1
    attempt(() => process.kill(entry.pid, urgency))
  }
}
