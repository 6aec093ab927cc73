/**
 * Happens-before reduction: a run that has come to where another one was goes on as that did, and is not needed.
 *
 * A run is a set of events: steps of fibers, tasks, timers, faults. The hash of an event is made of who took it, what it
 * was, the event before it of the same actor, and the last event on each thing that it touched: all that it depends on,
 * and nothing of the order of what it does not (Musuvathi and Qadeer, "Partial-order reduction for context-bounded state
 * exploration", 2007). The sum of the hashes of all events so far stands for the state they led to, whatever their order.
 *
 * Invariants
 *
 * H1. Whoever reads or writes what fibers share touches it. Here fibers share their inboxes, one for each, and all the
 *     rest as one thing: to know what a step could not have touched would need more than the runtime tells.
 * H2. A run is given up only where one that had used no more of any bound was before, with the same turns to come. That
 *     one, or another where it was given up itself, has run whatever could follow.
 * H3. A step in front of which a fiber gave way has the hash that it has where the fiber did not.
 *
 * Hashes have 64 bits, as two halves of 32: a collision would leave out schedules in silence. (BigInt measured 5
 * to 7 times slower, 64 ns for each value that is mixed against 12.)
 */

/**
 * How much of its bound a schedule uses.
 *
 * @internal
 */
export interface Use {
  readonly faults: number
  readonly preemptions: number
  readonly answers: number
}

interface Entry extends Use {
  readonly high: number
}

/**
 * The states that the runs of one search have come to.
 *
 * @internal
 */
export class Visited {
  private readonly ids = new Map<string, number>()
  private readonly table = new Map<number, Array<Entry>>()
  size = 0

  /** A number for a name, the same in all runs. */
  idOf(name: string): number {
    let id = this.ids.get(name)
    if (id === undefined) {
      id = this.ids.size + 1
      this.ids.set(name, id)
    }
    return id
  }

  /** Whether a schedule that used no more was here before (H2). If not, this one was. */
  meets({ high, low }: Hash, { answers, faults, preemptions }: Use): boolean {
    const entries = this.table.get(low) ?? []
    for (const was of entries) {
      if (was.high !== high) continue
      if (was.faults <= faults && was.preemptions <= preemptions && was.answers <= answers) return true
    }
    if (entries.length === 0) this.table.set(low, entries)
    entries.push({ high, faults, preemptions, answers })
    this.size++
    return false
  }
}

/** @internal */
export interface Hash {
  readonly high: number
  readonly low: number
}

const nothing: Hash = { high: 0, low: 0 }

/** Two halves that are mixed in different ways, and into each other. */
class Mixer {
  high = 0x2f6e2b1
  low = 0x1b873593

  add(value: number): void {
    this.high = Math.imul(this.high ^ value, 0x85ebca6b)
    this.high = ((this.high << 13) | (this.high >>> 19)) + (this.low ^ 0x9e3779b9)
    this.low = Math.imul(this.low ^ value ^ (this.high >>> 7), 0xc2b2ae35)
    this.low = ((this.low << 17) | (this.low >>> 15)) ^ this.high
  }

  addHash({ high, low }: Hash): void {
    this.add(high)
    this.add(low)
  }

  end(): Hash {
    let { high, low } = this
    high = Math.imul(high ^ (high >>> 15), 0x2c1b3c6d) ^ low
    low = Math.imul(low ^ (low >>> 13), 0x297a2d39) ^ (high >>> 5)
    return { high: high | 0, low: low | 0 }
  }
}

/**
 * The events of one run.
 *
 * @internal
 */
export class HappensBefore {
  private readonly visited: Visited
  /** The last event of each actor. */
  private readonly last = new Map<string, Hash>()
  /** The last event on each inbox. */
  private readonly inboxes = new Map<string, Hash>()
  private shared = nothing
  private high = 0
  private low = 0
  private actor: string | undefined
  private what = ""
  private event = new Mixer()
  private isShared = false
  private readonly told = new Set<string>()

  constructor(visited: Visited) {
    this.visited = visited
  }

  /** An actor goes on. What it was told comes before, as does its own last event. */
  begin(actor: string, what: string): void {
    this.end()
    this.actor = actor
    this.what = what
    this.event = new Mixer()
    this.event.add(this.visited.idOf(actor))
    this.event.add(this.visited.idOf(what))
    this.event.addHash(this.last.get(actor) ?? nothing)
    this.event.addHash(this.inboxes.get(actor) ?? nothing)
  }

  /** The event that goes on may read or write what fibers share. */
  touch(): void {
    if (this.isShared) return
    this.isShared = true
    this.event.add(1)
    this.event.addHash(this.shared)
  }

  /** The event that goes on tells `actor` something, or starts it. What an actor tells itself it knows (H3). */
  tell(actor: string): void {
    if (actor === this.actor || this.told.has(actor)) return
    this.told.add(actor)
    this.event.add(this.visited.idOf(actor))
    this.event.addHash(this.inboxes.get(actor) ?? nothing)
  }

  /** Whether a run that had used no more was here, before the event that comes next, with the same turns to come. */
  meets(current: string, toCome: Iterable<string>, time: number, use: Use): boolean {
    this.end()
    const state = new Mixer()
    state.addHash({ high: this.high, low: this.low })
    state.add(this.visited.idOf(current))
    state.add(time)
    for (const key of toCome) state.add(this.visited.idOf(key))
    return this.visited.meets(state.end(), use)
  }

  private end(): void {
    const { actor } = this
    if (actor === undefined) return
    this.actor = undefined
    const hash = this.event.end()
    // Only what was told or touched counts of an actor that was woken up and took no step.
    if (this.what === woken && !this.isShared && this.told.size === 0) return
    this.high = (this.high + hash.high) | 0
    this.low = (this.low + hash.low) | 0
    this.last.set(actor, hash)
    if (this.isShared) this.shared = hash
    this.isShared = false
    for (const told of this.told) this.inboxes.set(told, hash)
    this.told.clear()
  }
}

/**
 * The event of an actor that is woken up, until it takes a step.
 *
 * @internal
 */
export const woken = "woken"
