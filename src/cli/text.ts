/**
 * Texts as a terminal shows them: which signs are commands to it, and how wide the others are.
 *
 * What models, servers and commands say is shown to people. None of it may move the cursor, or show signs in another order
 * than they stand in.
 */

// Control characters but for the ends of lines and tabs, and those that turn the direction of writing.
const commands = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/gu

/** Without what is a command to a terminal. */
export const printable = (text: string): string => text.replace(commands, "")

/** The same, in one line. */
export const oneLine = (text: string): string => printable(text.replace(/[\r\n\t]+/g, " "))

/** The same, with each command written as JSON writes it. */
export const escaped = (text: string): string =>
  text.replace(commands, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)

const narrowest = /^[\p{Mn}\p{Me}\p{Cf}]$/u
const widest =
  /^[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3040-\uA4C6\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6B\uFF01-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{1F200}-\u{1F251}\u{20000}-\u{3FFFD}\p{Emoji_Presentation}]$/u

const columnsOf = (sign: string): number => (sign < "\u0300" ? 1 : narrowest.test(sign) ? 0 : widest.test(sign) ? 2 : 1)

/** How many columns a line takes. */
export const widthOf = (line: string): number => {
  let width = 0
  for (const sign of line) width += columnsOf(sign)
  return width
}

/** As much of the beginning of a line as fits into so many columns. */
export const cut = (line: string, columns: number): string => {
  if (line.length * 2 <= columns) return line
  let width = 0
  let end = 0
  for (const sign of line) {
    width += columnsOf(sign)
    if (width > columns) return line.slice(0, end)
    end += sign.length
  }
  return line
}

/** A line with spaces behind it, up to so many columns. */
export const pad = (line: string, columns: number): string => line + " ".repeat(Math.max(0, columns - widthOf(line)))
