/**
 * The life of one process group, and of what belongs to its tree outside of it: from the step in which its leader was
 * spawned until nothing of it is left.
 *
 * Invariants
 *
 * P1. The tree is gone when the exit of its leader was seen *and* nobody of it is alive. A leader's exit alone says nothing
 *     about the others, and `close` waits for whoever inherited a pipe (L3).
 * P2. SIGTERM is sent once at most, whoever asks and how often: a second one would run traps again.
 * P3. Nothing is signalled once the group is gone: its number may belong to somebody else by then.
 * P4. Escalation looks at who is alive, never at what was sent. (`child.killed` is true as soon as a signal was *sent*.)
 * P5. What cannot be forced is not waited for without a bound: what outlives SIGKILL or has left the group is named (L4).
 * P6. The group is in `liveGroups` from the step of its spawn until it is gone, so that the end of this program can reach it.
 * P7. When it has settled, it has no timer, and our ends of its pipes are closed (L3).
 */
import type { ChildProcess } from "node:child_process"
import type { Ending } from "../../capability/Process.js"
import { Settlement } from "../settlement.js"
import type { Origin } from "../startFiber.js"
import { startTimer } from "../timer.js"
import { type Entry, holdersOf, outputPipes, stillAlive } from "./processTable.js"
import { ProcessTree } from "./processTree.js"

/** How often the group is looked at while it is being ended. Nothing tells us of the end of a grandchild. */
const pollMillis = 15
/** How long the system may take to carry out a SIGKILL before the survivors are named. */
const killMillis = 2000
/** After the group is gone its pipes hold what it wrote last, and no more: silence for two of these ends the reading. */
const drainMillis = 50
/** Whoever has left the group and goes on writing is read no longer than this many times `drainMillis`. */
const maxDrains = 20

/** @internal */
export interface Limits {
  readonly timeoutMillis: number | undefined
  readonly graceMillis: number
}

/** @internal */
export const liveGroups = new Set<ProcessGroup>()

/** @internal */
export class ProcessGroup {
  readonly ended = new Settlement<Ending>()
  readonly pid: number
  readonly tree: ProcessTree
  private readonly child: ChildProcess
  private readonly limits: Limits
  private readonly origin: Origin
  /** Counts the bytes read so far. */
  private readonly received: () => number
  private readonly pipes: ReadonlySet<string>

  private phase: "running" | "terminating" | "killing" | "draining" | "over" = "running"
  private exit: { readonly code: number | null; readonly signal: string | null } | undefined
  private closed = false
  private timedOut = false
  private leavers: ReadonlyArray<Entry> = []
  private escaped: ReadonlyArray<string> = []
  private disarmLimit: (() => void) | undefined
  private disarmPoll: (() => void) | undefined

  /** Must be called in the step that spawned `child`, which leads a group of its own. */
  constructor(
    child: ChildProcess,
    pid: number,
    limits: Limits,
    mark: string | undefined,
    origin: Origin,
    received: () => number
  ) {
    this.child = child
    this.pid = pid
    this.limits = limits
    this.origin = origin
    this.received = received
    this.tree = new ProcessTree(pid, mark)
    this.pipes = outputPipes(pid)
    liveGroups.add(this) // P6
    child.once("exit", (code, signal) => this.leaderExited(code, signal))
    child.once("close", () => this.pipesClosed())
    if (limits.timeoutMillis !== undefined) this.limit(limits.timeoutMillis, () => this.timeIsOver())
  }

  /** Asks everything in the group to end. Again and again it is the same as once. */
  stop(): void {
    if (this.phase === "running") this.terminate() // P2
  }

  /** Kills everything in the group, in this step. For the end of this program: whoever waits sees a natural end. */
  killNow(): boolean {
    if (!this.tree.anyAlive) return false // P3
    this.tree.signal("SIGKILL")
    return true
  }

  private timeIsOver(): void {
    // While our thread was busy the leader may have ended in time. Then Node is about to say so.
    if (this.tree.leaderHasEnded) return
    this.timedOut = true
    this.terminate()
  }

  private leaderExited(code: number | null, signal: string | null): void {
    this.exit = { code, signal }
    if (this.phase === "over") return
    if (this.phase !== "running") return this.look()
    if (this.tree.anyAlive) this.terminate()
    else this.drain()
  }

  private terminate(): void {
    this.phase = "terminating"
    this.leavers = this.tree.leavers
    this.tree.signal("SIGTERM")
    this.limit(this.limits.graceMillis, () => this.kill())
    this.poll(pollMillis, () => this.look())
  }

  private kill(): void {
    this.phase = "killing"
    if (this.tree.anyAlive) this.tree.signal("SIGKILL") // P3, P4
    this.limit(killMillis, () => this.giveUp()) // P5
  }

  private look(): void {
    const isGone = this.exit !== undefined && !this.tree.anyAlive // P1
    if (isGone) this.drain()
    else this.poll(pollMillis, () => this.look())
  }

  private drain(): void {
    this.phase = "draining" // P3: from here on nobody signals
    liveGroups.delete(this) // P6
    this.disarm()
    if (this.closed) this.finish()
    else this.readOn(0, 0, this.received())
  }

  private readOn(drains: number, silences: number, received: number): void {
    this.poll(drainMillis, () => {
      const now = this.received()
      // Two, because a timer can be late: then what has come in the meantime is read only after the first of them.
      const silent = now === received ? silences + 1 : 0
      if (silent < 2 && drains + 1 < maxDrains) return this.readOn(drains + 1, silent, now)
      this.nameHolders() // P5
      this.closePipes() // P7: `close` follows
    })
  }

  private nameHolders(): void {
    const holders = holdersOf(this.pipes)
    this.leavers = [...this.leavers, ...holders.filter(({ pid }) => !this.leavers.some((leaver) => leaver.pid === pid))]
    if (this.leavers.some(stillAlive)) return
    this.escaped = [
      `a process that has left the process group ${this.pid} and holds its output open (its id is unknown)`
    ]
  }

  private giveUp(): void {
    const survivors = this.tree.alive
    // All dead, and Node is about to say so of the leader: see `look`.
    if (survivors?.length === 0) return this.limit(killMillis, () => this.giveUp())
    liveGroups.delete(this)
    this.escaped = survivors?.map(({ pid, name }) => `process ${pid} (${name}), which has survived SIGKILL`) ?? [
      `process group ${this.pid}, which has survived SIGKILL`
    ]
    this.closePipes()
    this.child.unref()
    this.finish()
  }

  private pipesClosed(): void {
    this.closed = true
    if (this.phase === "draining") this.finish()
  }

  private finish(): void {
    this.phase = "over"
    this.disarm() // P7
    const left = this.leavers
      .flatMap((leaver) => stillAlive(leaver) ?? [])
      .map((leaver) => this.tree.describeLeaver(leaver))
    this.ended.settle({
      pid: this.pid,
      exitCode: this.exit?.code ?? undefined,
      signal: this.exit?.signal ?? undefined,
      timedOut: this.timedOut,
      escaped: [...this.escaped, ...left]
    })
  }

  private closePipes(): void {
    for (const pipe of this.child.stdio) pipe?.destroy()
  }

  private limit(millis: number, task: () => void): void {
    this.disarmLimit?.()
    this.disarmLimit = startTimer(this.origin, millis, task)
  }

  private poll(millis: number, task: () => void): void {
    this.disarmPoll?.()
    this.disarmPoll = startTimer(this.origin, millis, task)
  }

  private disarm(): void {
    this.disarmLimit?.()
    this.disarmPoll?.()
  }
}
