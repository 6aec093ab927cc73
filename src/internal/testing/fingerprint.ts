/**
 * What two runs of one schedule are compared by, and where they part if they do.
 */

/**
 * A hash of everything that happens in a run and, if asked for, a list of it in words.
 *
 * @internal
 */
export class Fingerprint {
  hash = 0
  readonly journal: Array<string> | undefined

  constructor(inWords: boolean) {
    this.journal = inWords ? [] : undefined
  }

  /** Another fiber, task or timer goes on, or something outside happens. */
  enter(key: string): void {
    this.mix(key)
    this.journal?.push(`turn of ${key}`)
  }

  step(label: string, steps: number, op: string): void {
    this.mix(op)
    this.journal?.push(`step ${steps} of ${label}, ${op}`)
  }

  /** Something that the program said or came to. */
  said(what: string, where: string, text: string): void {
    this.mix(text)
    this.journal?.push(`${what} ${JSON.stringify(text)} in ${where}`)
  }

  // FNV-1a.
  private mix(text: string): void {
    let hash = this.hash ^ 0x811c9dc5
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    this.hash = hash | 0
  }
}

/**
 * The first thing in which two runs differ, or nothing if they do not.
 *
 * @internal
 */
export const partingOf = (first: ReadonlyArray<string>, second: ReadonlyArray<string>): string | undefined => {
  const at = first.findIndex((entry, i) => entry !== second[i])
  if (at === -1 && first.length === second.length) return undefined
  const i = at === -1 ? first.length : at
  const before = first[i - 1]
  return `${first[i] ?? "the end"} in one, ${second[i] ?? "the end"} in the other${before === undefined ? "" : `, both after ${before}`}`
}
