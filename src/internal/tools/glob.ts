/**
 * Matches a path against a pattern: `*` is anything but a slash, `**` anything, `**` and a slash any folders or none, `?`
 * one character but a slash.
 *
 * A walk over both, and no regular expression: the pattern comes from a model, and one with many stars would make an
 * engine that backtracks take longer than anybody can wait for.
 */

/** The ends that a part of the pattern can reach in `path`, given those of what stands before it. */
type Step = (reached: ReadonlyArray<boolean>, path: ReadonlyArray<string>) => ReadonlyArray<boolean>

const folders: Step = (reached, path) => {
  let isOpen = false
  return reached.map((here, end) => {
    const isAfterSlash = isOpen && path[end - 1] === "/"
    if (here) isOpen = true
    return here || isAfterSlash
  })
}

const anything: Step = (reached) => {
  let isOpen = false
  return reached.map((here) => {
    if (here) isOpen = true
    return isOpen
  })
}

const name: Step = (reached, path) => {
  let isOpen = false
  return reached.map((here, end) => {
    if (path[end - 1] === "/") isOpen = false
    if (here) isOpen = true
    return isOpen
  })
}

const character =
  (wanted: string): Step =>
  (reached, path) =>
    reached.map((_, end) => {
      const found = path[end - 1]
      return reached[end - 1] === true && (wanted === "?" ? found !== "/" : found === wanted)
    })

const tokens = /\*\*\/|\*\*|\*|[^*]/gsu

const stepOf = (token: string): Step => {
  switch (token) {
    case "**/":
      return folders
    case "**":
      return anything
    case "*":
      return name
    default:
      return character(token)
  }
}

/**
 * Whether `path` matches `pattern` as a whole. Takes time in proportion to the product of their lengths.
 *
 * @internal
 */
export const matches = (pattern: string, path: string): boolean => {
  const units = [...path]
  let reached: ReadonlyArray<boolean> = Array.from({ length: units.length + 1 }, (_, end) => end === 0)
  for (const [token] of pattern.matchAll(tokens)) reached = stepOf(token)(reached, units)
  return reached[units.length] === true
}
