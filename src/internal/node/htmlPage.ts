/**
 * A page of HTML as one string: nothing to load, and every text in it escaped.
 */
import { createHash } from "node:crypto"

const entities: { readonly [sign: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

// Control characters may not stand in HTML, not even escaped.
const forbidden = /[^\P{Cc}\n\t]/gu

/**
 * A text as it may stand in an element or an attribute.
 *
 * @internal
 */
export const escapeHtml = (text: string): string =>
  text.replaceAll(forbidden, "\uFFFD").replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign)

/** @internal */
export interface HtmlPage {
  readonly title: string
  readonly style: string
  readonly script: string | undefined
  /** The lines between `<body>` and `</body>`, escaped. */
  readonly body: ReadonlyArray<string>
}

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

// Should a text ever get through, nothing of it is run or loaded.
const policyOf = ({ script, style }: HtmlPage): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    ...(script === undefined ? [] : [`script-src ${hashOf(script)}`])
  ].join("; ")

/** @internal */
export const htmlPage = (page: HtmlPage): string =>
  [
    "<!DOCTYPE html>",
    `<html lang="en">`,
    "<head>",
    `<meta charset="utf-8" />`,
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policyOf(page))}" />`,
    `<title>${escapeHtml(page.title)}</title>`,
    `<style>${page.style}</style>`,
    "</head>",
    "<body>",
    ...page.body,
    ...(page.script === undefined ? [] : [`<script>${page.script}</script>`]),
    "</body>",
    "</html>",
    ""
  ].join("\n")
