/**
 * The processes of one command as far as its containment reaches: those of its group, and those that carry its mark.
 */
import { Marked } from "./marked.js"
import { type Entry, Members, stillAlive } from "./processTable.js"

/** @internal */
export class ProcessTree {
  private readonly pid: number
  private readonly members: Members
  private readonly marked: Marked | undefined
  private groupIsGone = false

  /** `pid`: the leader, which exists. */
  constructor(pid: number, mark: string | undefined) {
    this.pid = pid
    this.members = new Members(pid)
    this.marked = mark === undefined ? undefined : new Marked(pid, mark)
  }

  /** Whether there is somebody left. */
  get anyAlive(): boolean {
    if (!this.members.anyAlive) this.groupIsGone = true
    const outside = this.marked?.anyAlive ?? false
    return !this.groupIsGone || outside
  }

  /** Who lives, where the system tells. */
  get alive(): ReadonlyArray<Entry> | undefined {
    const members = this.members.alive
    return members === undefined ? undefined : [...members, ...(this.marked?.alive ?? [])]
  }

  get leaderHasEnded(): boolean {
    return this.members.leaderHasEnded
  }

  /** Processes that have left the reach of the containment, as far as it is known. Asked before anything is signalled. */
  get leavers(): ReadonlyArray<Entry> {
    return this.members.leavers.filter((entry) => this.marked?.carries(entry) !== true)
  }

  /** Signals everything, once. A group that was seen to be gone is not signalled: its number may be somebody else's. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    this.marked?.signal(name)
    if (!this.groupIsGone) this.toGroup(name)
  }

  /** What a Ctrl-C at a terminal does. */
  interrupt(): void {
    if (!this.groupIsGone) this.toGroup("SIGINT")
  }

  /** How a process that has left the reach is spoken of. */
  describeLeaver({ pid, name }: Entry): string {
    const also = this.marked === undefined ? "" : " and does not carry its mark"
    return `process ${pid} (${name}), which has left the process group ${this.pid}${also}`
  }

  private toGroup(name: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, name)
    } catch {
      // Gone in this very moment, or not ours to signal: the next look tells which.
    }
  }
}

/**
 * Signals those of `entries` that still live, each by itself.
 *
 * @internal
 */
export const signalEach = (entries: ReadonlyArray<Entry>, name: NodeJS.Signals): void => {
  for (const entry of entries) {
    if (stillAlive(entry) === undefined) continue
    try {
      process.kill(entry.pid, name)
    } catch {
      // It has ended in this very moment.
    }
  }
}
