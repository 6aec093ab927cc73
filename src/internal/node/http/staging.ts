/**
 * Stages a download on the disk.
 *
 * Invariants
 *
 * G1. What is staged lies in a private folder (a name that cannot be guessed, made by `mkdtemp`, mode 0700) next to the
 *     file, so that the rename which publishes it stays within one file system. Nothing else is touched before it.
 * G2. Every call is awaited: when an operation completes, no thread of the system still works for it (L3).
 * G3. The folder and the descriptor are gone after `discard`, whatever came before it (L3).
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type { Problem, Staging } from "../../capability/http/transport.js"
import { quoted } from "../../quoted.js"
import { Settlement } from "../../settlement.js"

type Result<A> = { readonly error: NodeJS.ErrnoException } | { readonly value: A }

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

/** Runs one call of Node to its end, whatever happens to the fiber. */
const call = <A>(
  file: string,
  run: (done: (error: NodeJS.ErrnoException | null, value: A) => void) => void
): Effect.Effect<A, Problem> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const settlement = new Settlement<Result<A>>()
      try {
        run((error, value) => settlement.settle(error === null ? { value } : { error }))
      } catch (error) {
        settlement.settle({ error: error as NodeJS.ErrnoException }) // Node throws what it cannot even ask the system for
      }
      return Effect.flatMap(settlement.wait(), (result) =>
        "error" in result ? Effect.fail(problemOf(file, result.error)) : Effect.succeed(result.value)
      )
    })
  ) // G2

/** The folder of a file, by its real path, unless it leads out of `root`. */
const folderOf = (root: string | undefined, file: string): Effect.Effect<string, Problem> =>
  Effect.gen(function* () {
    const target = path.resolve(root ?? ".", file)
    const folder = yield* call<string>(file, (done) => fs.realpath(path.dirname(target), done))
    if (root === undefined) return folder
    const realRoot = yield* call<string>(file, (done) => fs.realpath(root, done))
    const way = path.relative(realRoot, folder)
    const detail = `the file ${quoted(file)} is outside of the folder that may be used`
    return way === ".." || way.startsWith(`..${path.sep}`) || path.isAbsolute(way)
      ? yield* Effect.fail<Problem>({ reason: "WriteFailed", detail })
      : folder
  })

/**
 * Makes the place for a file, which must not lead out of `root`, where there is one.
 *
 * @internal
 */
export const stage = (root: string | undefined, file: string): Effect.Effect<Staging, Problem> =>
  Effect.gen(function* () {
    const folder = yield* folderOf(root, file)
    const private_ = yield* call<string>(file, (done) => fs.mkdtemp(path.join(folder, ".quiesce-"), done)) // G1
    const staged = path.join(private_, "download")
    let descriptor: number | undefined
    const close = Effect.suspend(() => {
      const open = descriptor
      descriptor = undefined
      return open === undefined
        ? Effect.void
        : call<void>(file, (done) => fs.close(open, (error) => done(error ?? null)))
    })
    const discard = Effect.zipRight(
      Effect.ignore(close),
      call<void>(file, (done) => fs.rm(private_, { recursive: true, force: true }, (error) => done(error)))
    ).pipe(
      Effect.catchAll(({ cause }) =>
        Effect.logWarning(`The staging folder ${private_} could not be removed: remove it by hand`, cause)
      )
    ) // G3
    const write = (bytes: Uint8Array, at = 0): Effect.Effect<void, Problem> =>
      Effect.flatMap(
        call<number>(file, (done) => fs.write(descriptor ?? -1, bytes, at, bytes.length - at, null, done)),
        (written) => (at + written < bytes.length ? write(bytes, at + written) : Effect.void)
      )
    const open = call<number>(file, (done) => fs.open(staged, "wx", 0o666, done))
    descriptor = yield* Effect.tapErrorCause(open, () => discard)
    return {
      write,
      commit: Effect.gen(function* () {
        yield* call<void>(file, (done) => fs.fsync(descriptor ?? -1, (error) => done(error)))
        yield* close
        yield* call<void>(file, (done) => fs.rename(staged, path.join(folder, path.basename(file)), (e) => done(e)))
      }),
      discard
    }
  })
