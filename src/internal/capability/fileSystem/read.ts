/**
 * Reading a file and a folder.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { type Kind, lookAt, versionOf } from "./info.js"
import { mustExist, type Place } from "./locate.js"
import type { Platform, Problem } from "./problem.js"
import { inFolder } from "./reach.js"

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

interface OpenFile {
  readonly version: string
  /** The next chunk, `undefined` behind the last one. */
  readonly next: Effect.Effect<Uint8Array | undefined, Problem>
}

/**
 * A regular file in a folder that is held, open as long as the scope.
 *
 * @internal
 */
export const openFile = (
  platform: Platform,
  at: string,
  maxBytes: number
): Effect.Effect<OpenFile, Problem, Scope.Scope> =>
  Effect.gen(function* () {
    const { call, reach } = platform
    const mayOpen = (info: PlatformFileSystem.File.Info): Effect.Effect<void, Problem> =>
      Effect.zipRight(
        mustBeFile(info),
        Number(info.size) <= maxBytes ? Effect.void : Effect.fail(tooLarge(Number(info.size), maxBytes))
      )
    // Known of what is open: what is read from now on is this version, or makes it stale.
    const { file, info } = yield* reach.open(platform, at, mayOpen)
    const size = Number(info.size)
    let bytes = 0
    // To the end of the file, not to the size that it had: files grow, and those of /proc say that they have none.
    const next = Effect.suspend(() =>
      Effect.flatMap(
        call(file.readAlloc(Math.min(chunkBytes, Math.max(size - bytes, 4095) + 1))),
        (chunk): Effect.Effect<Uint8Array | undefined, Problem> => {
          if (Option.isNone(chunk)) return Effect.succeed(undefined)
          bytes += chunk.value.length
          return bytes <= maxBytes ? Effect.succeed(chunk.value) : Effect.fail(tooLarge(bytes, maxBytes))
        }
      )
    )
    return { version: versionOf(info), next }
  })

const withFile = <A>(
  platform: Platform,
  place: Place,
  maxBytes: number,
  use: (file: OpenFile) => Effect.Effect<A, Problem>
): Effect.Effect<A, Problem> =>
  Effect.gen(function* () {
    const real = yield* mustExist(place)
    const scope = yield* Effect.scope
    // Its folder is not needed any more when it is open.
    const open = (at: string) => Scope.extend(openFile(platform, at, maxBytes), scope)
    return yield* use(yield* inFolder(platform, real, open))
  }).pipe(Effect.scoped)

const decode = (decoder: TextDecoder, chunk?: Uint8Array): Effect.Effect<string, Problem> =>
  Effect.try({
    try: () => (chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })),
    catch: (cause): Problem => ({ reason: "NotText", cause })
  })

/**
 * Reads a file as text and hands over each part, until `take` says that it wants no more. Gives the version.
 *
 * @internal
 */
export const readParts = (
  platform: Platform,
  place: Place,
  maxBytes: number,
  take: (part: string) => Effect.Effect<boolean>
): Effect.Effect<string, Problem> =>
  withFile(platform, place, maxBytes, ({ next, version }) =>
    Effect.gen(function* () {
      // Not `ignoreBOM: false`, which drops the mark: what is read and written back stays what it was.
      const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      for (let isWanted = true; isWanted; ) {
        const chunk = yield* next
        const part = yield* decode(decoder, chunk)
        if (part !== "") isWanted = yield* platform.restore(take(part))
        if (chunk === undefined) break
      }
      return version
    })
  )

/** @internal */
export interface VersionedText {
  readonly text: string
  readonly version: string
}

/** @internal */
export const readVersioned = (
  platform: Platform,
  place: Place,
  maxBytes: number
): Effect.Effect<VersionedText, Problem> =>
  Effect.suspend(() => {
    const parts: Array<string> = []
    const take = (part: string) => Effect.sync(() => parts.push(part) > 0)
    return Effect.map(readParts(platform, place, maxBytes, take), (version) => ({ text: parts.join(""), version }))
  })

/** @internal */
export const readBytes = (platform: Platform, place: Place, maxBytes: number): Effect.Effect<Uint8Array, Problem> =>
  withFile(platform, place, maxBytes, ({ next }) =>
    Effect.gen(function* () {
      const chunks: Array<Uint8Array> = []
      for (let chunk = yield* next; chunk !== undefined; chunk = yield* next) chunks.push(chunk)
      const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
      let at = 0
      for (const chunk of chunks) {
        bytes.set(chunk, at)
        at += chunk.length
      }
      return bytes
    })
  )

/** @internal */
export interface Entry {
  readonly name: string
  readonly kind: Kind
}

/** @internal */
export const list = (platform: Platform, place: Place): Effect.Effect<ReadonlyArray<Entry>, Problem> =>
  Effect.gen(function* () {
    const folder = yield* platform.reach.hold(platform, yield* mustExist(place))
    const names = yield* platform.call(platform.fs.readDirectory(folder))
    return yield* Effect.forEach([...names].sort(), (name) =>
      Effect.match(lookAt(platform, platform.path.join(folder, name)), {
        onSuccess: ({ kind }): Entry => ({ name, kind }),
        onFailure: (): Entry => ({ name, kind: "other" }) // gone meanwhile, or a name that the host cannot spell
      })
    )
  }).pipe(Effect.scoped)
