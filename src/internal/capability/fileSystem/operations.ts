/**
 * The operations of a file system, each of them owned, and changes in turn.
 */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as Cancellation from "../../../Cancellation.js"
import { type CopyOptions, copy } from "./copy.js"
import { applyEdits, type Edit } from "./edits.js"
import { type Info, lstat, stat } from "./info.js"
import { contains, locate, locateName, mustExist, type Place, pathOf, spell } from "./locate.js"
import { ownedStream } from "./ownedStream.js"
import { type Platform, type Problem, protect, type Services } from "./problem.js"
import { type Entry, list, readBytes, readParts, readVersioned, type VersionedText } from "./read.js"
import { remove } from "./remove.js"
import { TargetQueue, type Ticket } from "./targetQueue.js"
import { changeText, writeText } from "./writeText.js"

type Operation<A, E> = Effect.Effect<A, E, Cancellation.Cancellation>

/**
 * The service, for a type of failures. `FileSystem.Service` has the contracts.
 *
 * @internal
 */
export interface Operations<E = unknown> {
  readonly resolve: (path: string) => Operation<{ readonly path: string; readonly exists: boolean }, E>
  readonly stat: (path: string) => Operation<Info, E>
  readonly lstat: (path: string) => Operation<Info, E>
  readonly readText: (path: string, options?: Read) => Operation<string, E>
  readonly readVersioned: (path: string, options?: Read) => Operation<VersionedText, E>
  readonly readBytes: (path: string, options?: Read) => Operation<Uint8Array, E>
  readonly streamText: (path: string) => Stream.Stream<string, E, Cancellation.Cancellation>
  readonly list: (path: string) => Operation<ReadonlyArray<Entry>, E>
  readonly writeText: (path: string, text: string, options?: Write) => Operation<string, E>
  readonly editText: (path: string, edits: ReadonlyArray<Edit>, options?: Write) => Operation<string, E>
  readonly remove: (path: string, options?: { readonly recursive?: boolean | undefined }) => Operation<number, E>
  readonly copy: (from: string, to: string, options?: Partial<MaybeUndefined<CopyOptions>>) => Operation<void, E>
}

interface Read {
  readonly maxBytes?: number | undefined
}

interface Write {
  readonly expected?: string | undefined
}

type MaybeUndefined<T> = { readonly [K in keyof T]: T[K] | undefined }

type FailureOf<E> = (operation: keyof Operations) => (path: string, problem: Problem, to?: string) => E

/** Where a copy comes from, and where it goes. */
interface Way {
  readonly from: string
  readonly to: Place
}

// The host would write another character in its place: two paths, each with a line of its own, would be one file.
const unspellable: Problem = {
  reason: "InvalidPath",
  detail: "it holds half of a surrogate pair, which UTF-8 cannot express"
}

const isSpellable = (path: string): boolean => !/\p{Surrogate}/u.test(path)

const defaultMaxBytes = 10 * 1024 * 1024

/** @internal */
export const operationsOn = <E>(
  services: Services,
  root: string | undefined,
  failureOf: FailureOf<E>
): Operations<E> => {
  const own = <A>(
    operation: keyof Operations,
    [path, to]: readonly [path: string, to?: string],
    work: (platform: Platform) => Effect.Effect<A, Problem>
  ): Operation<A, E> =>
    Cancellation.operation(
      protect(services, (platform) =>
        Effect.mapError(
          Effect.suspend(() =>
            isSpellable(path) && isSpellable(to ?? "") ? work(platform) : Effect.fail(unspellable)
          ),
          (problem) => failureOf(operation)(path, problem, to)
        )
      ),
      `FileSystem.${operation}`
    )

  const read = <A>(
    operation: keyof Operations,
    path: string,
    use: (platform: Platform, place: Place) => Effect.Effect<A, Problem>
  ): Operation<A, E> =>
    own(operation, [path], (platform) => Effect.flatMap(locate(platform, root, path), (place) => use(platform, place)))

  // Two lines. What a path leads to is known only when the platform has been asked, and answers come in any order: so
  // changes under one spelling are looked up one after another, and line up at what it leads to in that order.
  const spellings = new TargetQueue()
  const targets = new TargetQueue((one, other) => contains(services, one, other) || contains(services, other, one))
  const change = <P, A>(
    operation: keyof Operations,
    paths: readonly [path: string, to?: string],
    find: (platform: Platform) => Effect.Effect<P, Problem>,
    targetsOf: (found: P) => ReadonlyArray<string>,
    use: (platform: Platform, found: P) => Effect.Effect<A, Problem>
  ): Operation<A, E> =>
    own(operation, paths, (platform) => {
      const { restore } = platform
      const lineUp = (found: P, ticket: Ticket): Effect.Effect<A, Problem> =>
        Effect.flatten(
          targets.useTicket(restore, ticket, (hasWaited): Effect.Effect<Effect.Effect<A, Problem>, Problem> => {
            if (!hasWaited) return Effect.map(use(platform, found), Effect.succeed)
            // Those before us may have made or removed what was found, or a link that leads to it.
            return Effect.flatMap(find(platform), (now) =>
              targetsOf(now).join("\0") === ticket.targets.join("\0")
                ? Effect.map(use(platform, now), Effect.succeed)
                : Effect.sync(() => lineUp(now, targets.draw(targetsOf(now))))
            )
          })
        )
      const words = paths.flatMap((path) => (path === undefined ? [] : [spell(services, root, path)]))
      const drawn = spellings.inTurn(restore, words, () =>
        Effect.map(find(platform), (found) => [found, targets.draw(targetsOf(found))] as const)
      )
      return Effect.flatMap(drawn, ([found, ticket]) => lineUp(found, ticket))
    })
  const changePlace = <A>(
    operation: keyof Operations,
    path: string,
    use: (platform: Platform, place: Place) => Effect.Effect<A, Problem>
  ): Operation<A, E> =>
    change(
      operation,
      [path],
      (platform) => locate(platform, root, path),
      (place) => [pathOf(services, place)],
      use
    )

  return {
    resolve: (path) =>
      read("resolve", path, (_platform, place) =>
        Effect.succeed({ path: pathOf(services, place), exists: place.missing.length === 0 })
      ),
    stat: (path) => read("stat", path, stat),
    lstat: (path) =>
      own("lstat", [path], (platform) =>
        Effect.flatMap(locateName(platform, root, path), (name) => lstat(platform, name))
      ),
    readText: (path, { maxBytes = defaultMaxBytes } = {}) =>
      read("readText", path, (platform, place) =>
        Effect.map(readVersioned(platform, place, maxBytes), ({ text }) => text)
      ),
    readVersioned: (path, { maxBytes = defaultMaxBytes } = {}) =>
      read("readVersioned", path, (platform, place) => readVersioned(platform, place, maxBytes)),
    readBytes: (path, { maxBytes = defaultMaxBytes } = {}) =>
      read("readBytes", path, (platform, place) => readBytes(platform, place, maxBytes)),
    streamText: (path) =>
      ownedStream((handOver: (part: string) => Effect.Effect<boolean>) =>
        read("streamText", path, (platform, place) =>
          Effect.asVoid(readParts(platform, place, Number.POSITIVE_INFINITY, handOver))
        )
      ),
    list: (path) => read("list", path, list),
    writeText: (path, text, { expected } = {}) =>
      changePlace("writeText", path, (platform, place) => writeText(platform, place, text, expected)),
    editText: (path, edits, { expected } = {}) =>
      changePlace("editText", path, (platform, place) =>
        changeText(platform, place, { expected, maxBytes: defaultMaxBytes }, (text) =>
          // A long list on a large file takes long: others have their turn meanwhile, and so has an interruption.
          applyEdits(text, edits, defaultMaxBytes, platform.restore(Effect.yieldNow()))
        )
      ),
    remove: (path, { recursive = false } = {}) =>
      change(
        "remove",
        [path],
        (platform) => locateName(platform, root, path),
        (name) => [name.path],
        (platform, name) => remove(platform, name, recursive)
      ),
    copy: (from, to, { overwrite = false, recursive = false } = {}) =>
      change(
        "copy",
        [from, to],
        (platform): Effect.Effect<Way, Problem> =>
          Effect.all({
            from: Effect.flatMap(locate(platform, root, from), mustExist),
            to: Effect.mapError(locate(platform, root, to), (problem): Problem => ({ ...problem, isOfTarget: true }))
          }),
        (way) => [way.from, pathOf(services, way.to)],
        (platform, way) => copy(platform, way.from, way.to, { overwrite, recursive })
      )
  }
}
