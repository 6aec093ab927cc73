/**
 * Quotes what somebody else has named, for a message: a path, a command, a label.
 *
 * Messages go to logs, to people and back to a model. So a name is one line of bounded length, whatever is in it.
 */

const mostUnits = 300

/** What JSON leaves as it is, and what ends a line, or turns the rest of it around, where it is shown. */
const misleading = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** @internal */
export const quoted = (name: string): string => `"${oneLine(name)}"`

/**
 * The same, without the quotes.
 *
 * @internal
 */
export const oneLine = (name: string): string =>
  JSON.stringify(name.length > mostUnits ? `${name.slice(0, mostUnits)}...` : name)
    .replace(misleading, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .slice(1, -1)
