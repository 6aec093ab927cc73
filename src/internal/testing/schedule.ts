/**
 * Schedules as data and as short strings.
 *
 * A schedule lists only where a run departs from the default order: "before step 65 of fiber `call`, interrupt it". The
 * places are counted within a fiber, so that a change elsewhere in the program does not move them.
 */

/**
 * Where a decision is taken: before the `count`th step of what `key` names, or (`waiting`) when that has stopped there.
 *
 * @internal
 */
export interface Place {
  readonly key: string
  readonly count: number
  readonly waiting: boolean
}

/**
 * One departure from the default order: at `place`, `choice` happens next. A choice that begins with `!` is a fault.
 *
 * @internal
 */
export interface Deviation {
  readonly place: Place
  readonly choice: string
}

/** @internal */
export type Schedule = ReadonlyArray<Deviation>

const version = "x1"

/** @internal */
export const isFault = (choice: string): boolean => choice.startsWith("!")

/**
 * Whether a choice is only another answer of the external that comes next anyhow: what it answers costs no departure.
 *
 * @internal
 */
export const isAnswer = (choice: string, usual: string | undefined): boolean =>
  usual?.startsWith("e:") === true && choice.split("=", 1)[0] === usual.split("=", 1)[0]

/** @internal */
export const showPlace = ({ key, count, waiting }: Place): string => `${key}@${count}${waiting ? "+" : ""}`

/**
 * Prints a schedule: `x1/call@65>!interrupt`. The default order is `x1/`.
 *
 * @internal
 */
export const show = (schedule: Schedule): string =>
  `${version}/${schedule.map(({ place, choice }) => `${showPlace(place)}>${choice}`).join(",")}`

const pattern = /^(.+)@(\d+)(\+?)>(.+)$/

/**
 * Reads what `show` printed, or says what is wrong with it.
 *
 * @internal
 */
export const parse = (text: string): Schedule | { readonly problem: string } => {
  if (!text.startsWith(`${version}/`)) {
    return {
      problem: `"${text}" is not a schedule: it should begin with "${version}/", as in ${version}/call@65>!interrupt`
    }
  }
  const body = text.slice(version.length + 1)
  const schedule: Array<Deviation> = []
  for (const part of body === "" ? [] : body.split(",")) {
    const match = pattern.exec(part)
    if (match === null) return { problem: `"${part}" is not a step of a schedule: expected FIBER@STEP>CHOICE` }
    const [, key = "", count, waiting, choice = ""] = match
    schedule.push({ place: { key, count: Number(count), waiting: waiting === "+" }, choice })
  }
  return schedule
}

/** @internal */
export const samePlace = (a: Place, b: Place): boolean =>
  a.count === b.count && a.key === b.key && a.waiting === b.waiting
