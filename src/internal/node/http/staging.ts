/**
 * Stages a download on the disk.
 *
 * Invariants
 *
 * G1. What is staged lies in a private folder (a name that cannot be guessed, made by `mkdtemp`, mode 0700) next to the
 *     file, so that the rename which publishes it stays within one file system. Nothing else is touched before it.
 * G2. Every call is awaited: when an operation completes, no thread of the system still works for it (L3).
 * G3. The folder and the descriptor are gone after `discard`, whatever came before it (L3).
 * G4. Where the file goes, and what is staged, is reached through folders that are held (see `fileSystem/byDescriptor`):
 *     a link that takes the place of one leads nowhere.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Problem, Staging } from "../../capability/http/transport.js"
import { quoted } from "../../quoted.js"
import { ask, type Done } from "../ask.js"
import * as Descriptor from "../fileSystem/descriptor.js"
import { disk } from "../fileSystem/disk.js"

const details: { readonly [code: string]: string } = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "its folder is not a folder",
  EACCES: "it is not permitted",
  EPERM: "it is not permitted",
  EISDIR: "there is a folder of that name",
  ENOTEMPTY: "there is a folder of that name",
  EEXIST: "there is a folder of that name",
  ENAMETOOLONG: "its name is too long",
  EROFS: "it is not permitted",
  ERR_INVALID_ARG_VALUE: "it is no path that the system accepts",
  ENOSPC: "no space is left on the device",
  EDQUOT: "no space is left on the device"
}

const problemOf = (file: string, cause: NodeJS.ErrnoException): Problem => {
  const why = details[cause.code ?? ""] ?? cause.code ?? "the system refused"
  return { reason: "WriteFailed", detail: `the file ${quoted(file)} could not be written: ${why}`, cause }
}

const call = <A>(file: string, run: (done: Done<A>) => void): Effect.Effect<A, Problem> =>
  Effect.mapError(ask(run), (cause) => problemOf(file, cause)) // G2

const realPath = (file: string, place: string): Effect.Effect<string, Problem> =>
  Effect.mapError(disk.realPath(place), ({ cause }) =>
    problemOf(file, (cause ?? { code: "ENOENT" }) as NodeJS.ErrnoException)
  )

/** The folder of a file, by its real path, unless it leads out of `root`. */
const folderOf = (root: string | undefined, file: string): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    const target = path.resolve(root ?? ".", file)
    const folder = yield* realPath(file, path.dirname(target))
    if (root === undefined) return folder
    const realRoot = yield* realPath(file, root)
    const way = path.relative(realRoot, folder)
    const detail = `the file ${quoted(file)} is outside of the folder that may be used`
    return way === ".." || way.startsWith(`..${path.sep}`) || path.isAbsolute(way)
      ? yield* Effect.fail<Problem>({ reason: "WriteFailed", detail })
      : folder
  })

const moved = (file: string): Problem => ({
  reason: "WriteFailed",
  detail: `the file ${quoted(file)} could not be written: its folder was moved, or became a link`
})

/** A path that leads to a folder as long as the scope, where the system has such paths. */
const hold = (file: string, real: string): Effect.Effect<string, Problem, Scope.Scope> =>
  Descriptor.isPath
    ? Effect.gen(function* () {
        const descriptor = yield* Effect.mapError(Descriptor.open(real, Descriptor.folderOnly), () => moved(file))
        return yield* Effect.as(mustStay(file, Descriptor.pathOf(descriptor), real), Descriptor.pathOf(descriptor))
      })
    : Effect.succeed(real)

const mustStay = (file: string, held: string, real: string): Effect.Effect<void, Problem> =>
  Descriptor.isPath
    ? Effect.flatMap(
        call<string>(file, (done) => fs.readlink(held, done)),
        (now) => (now === real ? Effect.void : Effect.fail(moved(file)))
      )
    : Effect.void

/** As `hold`, of a folder in one that is held. */
const enter = (file: string, place: string): Effect.Effect<string, Problem, Scope.Scope> =>
  Descriptor.isPath
    ? Effect.map(
        Effect.mapError(Descriptor.open(place, Descriptor.folderOnly), () => moved(file)),
        Descriptor.pathOf
      )
    : Effect.succeed(place)

/** Removes the staging folder `place`, which is `name` to people. */
const remove = (place: string, name: string): Effect.Effect<void> =>
  Effect.catchAll(disk.remove(place, { recursive: true, force: true }), ({ cause }) =>
    Effect.logWarning(`The staging folder ${name} could not be removed: remove it by hand`, cause)
  )

/**
 * Makes the place for a file, which must not lead out of `root`, where there is one.
 *
 * @internal
 */
export const stage = (root: string | undefined, file: string): Effect.Effect<Staging, Problem> =>
  Effect.flatMap(Scope.make(), (scope) =>
    Effect.gen(function* () {
      const real = yield* folderOf(root, file)
      const folder = yield* hold(file, real) // G4
      const private_ = yield* Effect.acquireRelease(
        call<string>(file, (done) => fs.mkdtemp(`${folder}/.quiesce-`, done)), // G1
        (place) => remove(place, path.join(real, path.basename(place)))
      )
      const staged = `${yield* enter(file, private_)}/download`
      let descriptor: number | undefined
      const close = Effect.suspend(() => {
        const open = descriptor
        descriptor = undefined
        return open === undefined
          ? Effect.void
          : call<void>(file, (done) => fs.close(open, (error) => done(error ?? null)))
      })
      descriptor = yield* Effect.acquireRelease(
        call<number>(file, (done) => fs.open(staged, "wx", 0o666, done)),
        () => Effect.ignore(close)
      )
      const write = (bytes: Uint8Array, at = 0): Effect.Effect<void, Problem> =>
        Effect.flatMap(
          call<number>(file, (done) => fs.write(descriptor ?? -1, bytes, at, bytes.length - at, null, done)),
          (written) => (at + written < bytes.length ? write(bytes, at + written) : Effect.void)
        )
      return {
        write,
        commit: Effect.gen(function* () {
          yield* call<void>(file, (done) => fs.fsync(descriptor ?? -1, (error) => done(error)))
          yield* close
          yield* mustStay(file, folder, real)
          yield* call<void>(file, (done) => fs.rename(staged, path.join(folder, path.basename(file)), (e) => done(e)))
        }),
        discard: Scope.close(scope, Exit.void) // G3
      }
    }).pipe(
      Scope.extend(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
  )
