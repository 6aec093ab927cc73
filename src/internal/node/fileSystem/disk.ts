/**
 * The calls of `@effect/platform` that `FileSystem` makes, on Node itself.
 *
 * Stricter than the platform asks for, since other programs are at work in the same folders: `stat` follows no link (what
 * it is asked for is what was found, and that was none), opening to read never waits for a pipe, and what is removed
 * recursively is what was there when it was looked at.
 */
import * as fs from "node:fs"
import { type PlatformError, SystemError } from "@effect/platform/Error"
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Descriptor from "./descriptor.js"

const { call } = Descriptor

const fileOf = (fd: number): PlatformFileSystem.File => {
  const unsupported = Effect.dieMessage("An open file of quiesce/node has no such operation")
  const write = (bytes: Uint8Array, at: number): Effect.Effect<void, PlatformError> =>
    Effect.flatMap(
      call<number>("writeAll", fd, (done) => fs.write(fd, bytes, at, bytes.length - at, null, done)),
      (written) => (at + written < bytes.length ? write(bytes, at + written) : Effect.void)
    )
  return {
    [PlatformFileSystem.FileTypeId]: PlatformFileSystem.FileTypeId,
    fd: PlatformFileSystem.FileDescriptor(fd),
    stat: Descriptor.stat(fd),
    sync: call<void>("sync", fd, (done) => fs.fsync(fd, done)),
    readAlloc: (size) =>
      Effect.suspend(() => {
        const buffer = new Uint8Array(Number(size))
        return Effect.map(
          call<number>("readAlloc", fd, (done) => fs.read(fd, buffer, 0, buffer.length, null, done)),
          (read) => (read === 0 ? Option.none() : Option.some(buffer.subarray(0, read)))
        )
      }),
    writeAll: (bytes) => write(bytes, 0),
    seek: () => unsupported,
    read: () => unsupported,
    truncate: () => unsupported,
    write: () => unsupported
  }
}

const { O_CREAT, O_EXCL, O_NONBLOCK, O_RDONLY, O_WRONLY } = Descriptor

const flags: { readonly [flag: string]: number } = {
  // Of a regular file it changes nothing. A pipe that took its place is open at once, and seen to be none.
  r: O_RDONLY | (O_NONBLOCK ?? 0),
  wx: O_WRONLY | O_CREAT | O_EXCL
}

const open = (
  path: string,
  { flag = "r" }: PlatformFileSystem.OpenFileOptions = {}
): Effect.Effect<PlatformFileSystem.File, PlatformError, Scope.Scope> => {
  const number = flags[flag]
  return number === undefined
    ? Effect.dieMessage(`Files of quiesce/node are not opened with ${flag}`)
    : Effect.map(Descriptor.open(path, number), fileOf)
}

const stat = (path: string): Effect.Effect<PlatformFileSystem.File.Info, PlatformError> =>
  Effect.map(
    call<fs.Stats>("stat", path, (done) => fs.lstat(path, done)),
    Descriptor.infoOf
  )

const gone = (path: string): PlatformError =>
  new SystemError({
    module: "FileSystem",
    method: "realPath",
    reason: "NotFound",
    pathOrDescriptor: path,
    description: "it is in no folder"
  })

/** As the system says it of what is open, so that the two can be compared. */
const whereIs = (path: string): Effect.Effect<string, PlatformError> =>
  Effect.scoped(
    Effect.flatMap(Descriptor.open(path, Descriptor.pathOnly), (descriptor) =>
      Descriptor.whereIs(Descriptor.pathOf(descriptor))
    )
  )

/** What the system adds to the path of what is at no path any more. Something else may have that name. */
const isDeleted = (real: string): Effect.Effect<boolean> =>
  real.endsWith(" (deleted)") ? Effect.map(Effect.either(stat(real)), Either.isLeft) : Effect.succeed(false)

/** The real path. Somebody may replace a file while it is looked up, and again: `tries` times it is looked up. */
const realPath = (path: string, tries = 100): Effect.Effect<string, PlatformError> => {
  if (!Descriptor.isPath) return call<string>("realPath", path, (done) => fs.realpath(path, done))
  return Effect.flatMap(whereIs(path), (real) => {
    if (!real.startsWith("/")) return Effect.fail(gone(path)) // "pipe:[4711]", of what is open without a path
    return Effect.flatMap(isDeleted(real), (deleted) => {
      if (!deleted) return Effect.succeed(real)
      return tries > 1 ? realPath(path, tries - 1) : Effect.fail(gone(path))
    })
  })
}

/** Where a name is gone, nothing has to be done. */
const ifThere = (self: Effect.Effect<void, PlatformError>): Effect.Effect<void, PlatformError> =>
  Effect.catchAll(self, (error) =>
    (error.cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT" ? Effect.void : Effect.fail(error)
  )

const unlink = (path: string): Effect.Effect<void, PlatformError> =>
  call<void>("remove", path, (done) => fs.unlink(path, done))

/** Removes what is there, all the way down, through folders that are open: a link that takes the place of one is removed. */
const removeAll = (path: string): Effect.Effect<void, PlatformError> =>
  Effect.flatMap(stat(path), ({ type }) => {
    if (type !== "Directory") return unlink(path)
    const empty = Effect.gen(function* () {
      const folder = Descriptor.pathOf(yield* Descriptor.open(path, Descriptor.folderOnly))
      const names = yield* readDirectory(folder)
      yield* Effect.forEach(names, (name) => ifThere(removeAll(`${folder}/${name}`)), { discard: true })
    })
    return Effect.zipRight(
      Effect.scoped(empty),
      call<void>("remove", path, (done) => fs.rmdir(path, done))
    )
  })

const readDirectory = (path: string): Effect.Effect<Array<string>, PlatformError> =>
  call<Array<string>>("readDirectory", path, (done) => fs.readdir(path, done))

const remove = (
  path: string,
  { force = false, recursive = false }: PlatformFileSystem.RemoveOptions = {}
): Effect.Effect<void, PlatformError> => {
  const all = Descriptor.isPath
    ? removeAll(path)
    : call<void>("remove", path, (done) => fs.rm(path, { recursive: true }, done))
  const removing = recursive ? all : unlink(path)
  return force ? ifThere(removing) : removing
}

/** @internal */
export const disk: PlatformFileSystem.FileSystem = PlatformFileSystem.makeNoop({
  access: (path, options) =>
    call<void>("access", path, (done) =>
      fs.access(path, options?.writable === true ? fs.constants.W_OK : fs.constants.F_OK, done)
    ),
  chmod: (path, mode) => call<void>("chmod", path, (done) => fs.chmod(path, mode, done)),
  chown: (path, uid, gid) => call<void>("chown", path, (done) => fs.chown(path, uid, gid, done)),
  makeDirectory: (path) => call<void>("makeDirectory", path, (done) => fs.mkdir(path, done)),
  makeTempDirectory: ({ directory = ".", prefix = "" } = {}) =>
    call<string>("makeTempDirectory", directory, (done) =>
      fs.mkdtemp(directory.endsWith("/") ? `${directory}${prefix}` : `${directory}/${prefix}`, done)
    ),
  open,
  readDirectory,
  readLink: (path) => call<string>("readLink", path, (done) => fs.readlink(path, done)),
  realPath: (path) => realPath(path),
  remove,
  rename: (from, to) => call<void>("rename", from, (done) => fs.rename(from, to, done)),
  stat,
  symlink: (target, path) => call<void>("symlink", path, (done) => fs.symlink(target, path, done)),
  utimes: (path, accessed, modified) => call<void>("utimes", path, (done) => fs.utimes(path, accessed, modified, done))
})
