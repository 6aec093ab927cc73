/**
 * Unpacks the body of a response.
 */
import type { Transform } from "node:stream"
import * as zlib from "node:zlib"

const unpackers: { readonly [encoding: string]: () => Transform } = {
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress()
}

/** @internal */
export const acceptedEncodings = "gzip, deflate, br"

/**
 * What unpacks a body with this `content-encoding`, where that is needed and known.
 *
 * @internal
 */
export const unpacker = (encoding: string | undefined): Transform | "unknown" | undefined => {
  const name = encoding?.trim().toLowerCase() ?? ""
  if (name === "" || name === "identity") return undefined
  return Object.hasOwn(unpackers, name) ? unpackers[name]?.() : "unknown"
}
