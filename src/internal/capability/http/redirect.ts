/**
 * Where a redirect leads, as RFC 9110, section 15.4, and browsers have it.
 */
import * as Headers from "@effect/platform/Headers"
import { refuseUrl } from "./plan.js"
import type { Head, Outgoing, Problem } from "./transport.js"

const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** They are for the origin that they were given for. */
const secrets = ["authorization", "cookie", "proxy-authorization"]

/** They tell of a body that is not sent on. */
const ofBody = ["content-type", "content-encoding", "content-language", "content-location"]

const without = (headers: Headers.Headers, names: ReadonlyArray<string>): Headers.Headers =>
  names.reduce((rest, name) => Headers.remove(rest, name), headers)

const losesItsBody = (status: number, method: string): boolean =>
  status === 303 ? method !== "GET" && method !== "HEAD" : (status === 301 || status === 302) && method === "POST"

/**
 * The request that a response demands in place of `outgoing`, if it demands one.
 *
 * @internal
 */
export const redirected = (outgoing: Outgoing, { headers, status }: Head): Outgoing | Problem | undefined => {
  const { location } = headers
  if (!statuses.has(status) || location === undefined) return undefined
  const broken = (detail: string): Problem => ({ reason: "InvalidRedirect", status, detail })
  if (!URL.canParse(location, outgoing.url)) return broken("it was redirected to something that is no URL")
  const url = new URL(location, outgoing.url)
  url.hash = ""
  const refused = refuseUrl(url)
  if (refused !== undefined) return broken(`it was redirected, and now ${refused}`)
  const kept = url.origin === outgoing.url.origin ? outgoing.headers : without(outgoing.headers, secrets)
  if (losesItsBody(status, outgoing.method)) {
    return { url, method: "GET", headers: without(kept, ofBody), body: undefined }
  }
  // It has been read, by then, to where the server answered.
  if (outgoing.body === "streamed") return broken("it was redirected with its body, which is a stream and sent once")
  return { ...outgoing, url, headers: kept }
}
