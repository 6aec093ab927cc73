/**
 * Tells whether two runs fail in the same way, so that a failure is not shrunk into, or said to be reached by, another.
 */

/**
 * What is wrong with a run. Two runs with one `kind` have the same failure, whatever the details in `text`.
 *
 * @internal
 */
export interface Problem {
  readonly kind: string
  readonly text: string
}

/**
 * The failure of an invariant is that of its place in the list: what it says may name numbers and fibers.
 *
 * @internal
 */
export const broken = (invariant: number, text: string): Problem => ({ kind: `invariant ${invariant}`, text })

const failed = "the scenario failed:"

/**
 * Any other failure: a deadlock is a deadlock, whoever waits, but two errors of a scenario are two failures, unless only
 * numbers in them differ.
 *
 * @internal
 */
export const wrong = (text: string): Problem => {
  const [line = ""] = text.split("\n", 1)
  const kind = line.startsWith(failed) ? line.replaceAll(/\d+/g, "#") : line.split(":", 1)[0]
  return { kind: kind ?? "", text }
}
