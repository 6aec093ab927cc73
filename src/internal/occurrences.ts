/**
 * Where a text stands in another, in time that is proportional to the length of both.
 *
 * What is looked for comes from a model. The search of the host takes the product of the two lengths where they are made
 * for it: measured on Node 20, 65 s for `a...aba...a` (128 Ki) in 1 Mi `a`s, in which nothing else of the program runs.
 */

/** From this length on the search of the host is not used: below it, its worst case is no worse than a few passes. */
const shortUnits = 32

/** For each beginning of `find` the length of the longest shorter beginning that is also its end (Knuth, Morris, Pratt). */
const bordersOf = (find: string): Int32Array => {
  const borders = new Int32Array(find.length)
  for (let i = 1, border = 0; i < find.length; i++) {
    while (border > 0 && find.charCodeAt(i) !== find.charCodeAt(border)) border = borders[border - 1] ?? 0
    if (find.charCodeAt(i) === find.charCodeAt(border)) border++
    borders[i] = border
  }
  return borders
}

/** Calls `found` with each place, also where two of them overlap, until that says that it is enough. */
const scan = (text: string, find: string, found: (at: number) => boolean): void => {
  const borders = bordersOf(find)
  for (let i = 0, matched = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    while (matched > 0 && unit !== find.charCodeAt(matched)) matched = borders[matched - 1] ?? 0
    if (unit === find.charCodeAt(matched)) matched++
    if (matched < find.length) continue
    if (found(i - find.length + 1)) return
    matched = borders[matched - 1] ?? 0
  }
}

/**
 * The first place at which `find`, which is not empty, stands in `text`; -1 if there is none.
 *
 * @internal
 */
export const indexOf = (text: string, find: string): number => {
  if (find.length < shortUnits) return text.indexOf(find)
  let first = -1
  scan(text, find, (at) => {
    first = at
    return true
  })
  return first
}

/**
 * How often `find` stands in `text`, also where two of the places overlap.
 *
 * @internal
 */
export const countOf = (text: string, find: string): number => {
  let count = 0
  scan(text, find, () => {
    count++
    return false
  })
  return count
}

/**
 * What stands between the places at which `find` stands in `text`, which do not overlap: as `text.split(find)`.
 *
 * @internal
 */
export const split = (text: string, find: string): ReadonlyArray<string> => {
  if (find.length < shortUnits) return text.split(find)
  const parts: Array<string> = []
  let end = 0
  scan(text, find, (at) => {
    if (at >= end) {
      parts.push(text.slice(end, at))
      end = at + find.length
    }
    return false
  })
  parts.push(text.slice(end))
  return parts
}
