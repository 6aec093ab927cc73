/**
 * What an error of a socket, of TLS or of the parser means.
 */
import type { Problem } from "../../capability/http/transport.js"
import { Refused } from "./guard.js"

/** How far a connection had come when it failed. */
/** @internal */
export interface Progress {
  /** It was connected, and TLS, if there is any, was agreed. */
  readonly isConnected: boolean
  /** What was wrong with the certificate of the server. */
  readonly certificate: unknown
}

const lookupCodes = new Set(["ENOTFOUND", "ENODATA", "ESERVFAIL", "EREFUSED"])

const details: { readonly [code: string]: string } = {
  ECONNREFUSED: "nothing accepts connections at its port",
  ENETUNREACH: "there is no way to its network",
  EHOSTUNREACH: "there is no way to its host",
  ETIMEDOUT: "its host does not answer",
  HPE_HEADER_OVERFLOW: "the headers of the response are larger than 16 KiB",
  HPE_INVALID_CHUNK_SIZE: "the body of the response is not chunked as it should be",
  EPROTO: "no TLS could be agreed on with the server"
}

/** @internal */
export const problemOf = (error: unknown, { certificate, isConnected }: Progress): Problem => {
  if (error instanceof Refused) return error.problem
  const code = String((error as NodeJS.ErrnoException | null)?.code ?? "")
  // Neither is the error kept whose message may quote what was sent.
  const detail = details[code] === undefined ? {} : { detail: details[code] }
  if (code === "ERR_INVALID_CHAR" || code === "ERR_UNESCAPED_CHARACTERS") return { reason: "InvalidRequest" }
  if (lookupCodes.has(code) || code.startsWith("EAI_")) return { reason: "LookupFailed", cause: error }
  if (certificate !== null && certificate !== undefined) {
    return { reason: "CertificateRejected", detail: `the certificate of the server cannot be trusted (${certificate})` }
  }
  if (code.startsWith("HPE_")) return { reason: "InvalidResponse", ...detail, cause: error }
  return { reason: isConnected ? "ConnectionLost" : "ConnectFailed", ...detail, cause: error }
}
