/**
 * Reads a stack of V8: which lines of it are the code's.
 */

const ours = /^\s+at .*\bcode\.js:(\d+)/
const frame = /^\s+at /

/**
 * The stack without what runs the code, and the line in the code, where it names one.
 *
 * @internal
 */
export const placeIn = (stack: string): { readonly stack?: string; readonly line?: number } => {
  if (stack === "") return {}
  const lines = stack.split("\n")
  const kept = lines.filter((line) => !frame.test(line) || ours.test(line)).join("\n")
  // An error of syntax has its place before everything else.
  const first = /^code\.js:(\d+)/.exec(stack) ?? ours.exec(lines.find((line) => ours.test(line)) ?? "")
  return { stack: kept, ...(first === null ? {} : { line: Number(first[1]) }) }
}
