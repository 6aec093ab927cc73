/**
 * The members of an owner: mostly one or two, sometimes ten thousand, joining and leaving all the time.
 *
 * A set for each call is a large part of what a call allocates; an array alone makes leaving quadratic in the calls in
 * flight. So it is an array as long as it is short.
 */
const shortest = 16

/** @internal */
export class Members<M> {
  private readonly few: Array<M> = []
  private many: Set<M> | undefined

  get isEmpty(): boolean {
    return this.many === undefined ? this.few.length === 0 : this.many.size === 0
  }

  add(member: M): void {
    if (this.many !== undefined) this.many.add(member)
    else if (this.few.push(member) > shortest) this.many = new Set(this.few.splice(0))
  }

  /** Whether the member was there. */
  remove(member: M): boolean {
    if (this.many !== undefined) return this.many.delete(member)
    const at = this.few.lastIndexOf(member)
    if (at === -1) return false
    this.few.splice(at, 1)
    return true
  }

  /** Calls `f` with each member that is there now; meanwhile others may come and go. */
  each(f: (member: M) => void): void {
    if (!this.isEmpty) for (const member of [...(this.many ?? this.few)]) f(member)
  }
}
