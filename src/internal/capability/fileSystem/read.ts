/**
 * Reading a file and a folder.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { mustExist, type Place } from "./locate.js"
import { call, type Platform, type Problem } from "./problem.js"

/**
 * The most that one call of the platform moves: about a millisecond, in which a fiber cannot be interrupted.
 *
 * @internal
 */
export const chunkBytes = 1024 * 1024

/**
 * Fails unless `info` is that of a regular file.
 *
 * @internal
 */
export const mustBeFile = (info: PlatformFileSystem.File.Info): Effect.Effect<void, Problem> => {
  switch (info.type) {
    case "File":
      return Effect.void
    case "Directory":
      return Effect.fail({ reason: "IsDirectory" })
    default:
      return Effect.fail({ reason: "NotAFile" })
  }
}

const tooLarge = (bytes: number, maxBytes: number): Problem => ({
  reason: "TooLarge",
  detail: `it has ${bytes} bytes or more, and at most ${maxBytes} may be read`
})

const decode = (decoder: TextDecoder, chunk?: Uint8Array): Effect.Effect<string, Problem> =>
  Effect.try({
    try: () => (chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })),
    catch: (cause): Problem => ({ reason: "NotText", cause })
  })

/** @internal */
export const readText = ({ fs }: Platform, place: Place, maxBytes: number): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    const real = yield* mustExist(place)
    const info = yield* call(fs.stat(real))
    // Before it is opened: opening a pipe that nobody writes to blocks one of the few threads of the host for good. A
    // process that swaps the file for a pipe between the two can still do that: the platform opens only blocking.
    yield* mustBeFile(info)
    const size = Number(info.size)
    if (!(size <= maxBytes)) return yield* Effect.fail(tooLarge(size, maxBytes))
    const file = yield* call(fs.open(real, { flag: "r" }))
    yield* mustBeFile(yield* call(file.stat)) // swapped for a device meanwhile, which would never end
    // Not `ignoreBOM: false`, which drops the mark: what is read and written back stays what it was.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
    const parts: Array<string> = []
    // To the end of the file, not to the size that it had: files grow, and those of /proc say that they have none.
    for (let bytes = 0; ; ) {
      const next = yield* call(file.readAlloc(Math.min(chunkBytes, Math.max(size - bytes, 4095) + 1)))
      if (Option.isNone(next)) break
      bytes += next.value.length
      if (!(bytes <= maxBytes)) return yield* Effect.fail(tooLarge(bytes, maxBytes))
      parts.push(yield* decode(decoder, next.value))
    }
    parts.push(yield* decode(decoder))
    return parts.join("")
  }).pipe(Effect.scoped)

/** @internal */
export type Kind = "file" | "directory" | "link" | "other"

/** @internal */
export interface Entry {
  readonly name: string
  readonly kind: Kind
}

// The platform has no `lstat`: what is not a link is told by the failure to read it as one, which costs some 0.1 ms.
const kindOf = ({ fs }: Platform, child: string): Effect.Effect<Kind> =>
  Effect.matchEffect(call(fs.readLink(child)), {
    onSuccess: () => Effect.succeed<Kind>("link"),
    onFailure: () =>
      Effect.match(call(fs.stat(child)), {
        onSuccess: ({ type }): Kind => (type === "File" ? "file" : type === "Directory" ? "directory" : "other"),
        onFailure: (): Kind => "other" // gone meanwhile, or a name that the host cannot spell
      })
  })

/** @internal */
export const list = (platform: Platform, place: Place): Effect.Effect<ReadonlyArray<Entry>, Problem> =>
  Effect.gen(function* () {
    const folder = yield* mustExist(place)
    const names = yield* call(platform.fs.readDirectory(folder))
    return yield* Effect.forEach([...names].sort(), (name) =>
      Effect.map(kindOf(platform, platform.path.join(folder, name)), (kind): Entry => ({ name, kind }))
    )
  })
