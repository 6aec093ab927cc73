/**
 * Open files and folders, and what the system says of them.
 *
 * On Linux a descriptor is also a path, `/proc/self/fd/N`, that leads to what was opened and to nothing else, whatever
 * has become of the name that it was opened by. A path below that of a folder is what `openat` and its kin are in C, for
 * all calls of Node, and reading it as a link says where the folder is now.
 */
import * as fs from "node:fs"
import { BadArgument, type PlatformError, SystemError } from "@effect/platform/Error"
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ask, type Done } from "../ask.js"

/**
 * Opens a name and not what is there: it never waits for a pipe, wakes no device, and needs no permission to read. Linux
 * alone has it, and Node has no name for it.
 *
 * @internal
 */
export const pathOnly = 0o10000000

/** @internal */
export const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants

/**
 * Opens a folder, and no link to one.
 *
 * @internal
 */
export const folderOnly = pathOnly | O_DIRECTORY | O_NOFOLLOW

/** @internal */
export const pathOf = (descriptor: number): string => `/proc/self/fd/${descriptor}`

const probe = (): boolean => {
  if (process.platform !== "linux") return false
  try {
    const descriptor = fs.openSync("/", pathOnly | O_DIRECTORY)
    try {
      return fs.readlinkSync(pathOf(descriptor)) === "/"
    } finally {
      fs.closeSync(descriptor)
    }
  } catch {
    return false
  }
}

/**
 * Whether a descriptor is a path. Without `/proc`, and on other systems than Linux, it is not.
 *
 * @internal
 */
export const isPath: boolean = probe()

/**
 * One call, in the words of the platform.
 *
 * @internal
 */
export const call = <A>(
  method: string,
  path: string | number,
  run: (done: Done<A>) => void
): Effect.Effect<A, PlatformError> =>
  Effect.mapError(ask(run), (cause): PlatformError => {
    const { code, message, syscall } = cause
    if (code?.startsWith("ERR_") === true) {
      return new BadArgument({ module: "FileSystem", method, description: message, cause })
    }
    return new SystemError({
      module: "FileSystem",
      method,
      reason: "Unknown", // its code says more than any reason, and is read from the cause
      pathOrDescriptor: path,
      syscall,
      description: message,
      cause
    })
  })

const close = (descriptor: number): Effect.Effect<void> =>
  Effect.ignore(call<void>("close", descriptor, (done) => fs.close(descriptor, (error) => done(error ?? null))))

/**
 * A descriptor, open as long as the scope.
 *
 * @internal
 */
export const open = (path: string, flags: number): Effect.Effect<number, PlatformError, Scope.Scope> =>
  Effect.acquireRelease(
    call<number>("open", path, (done) => fs.open(path, flags, 0o666, done)),
    close
  )

/**
 * Where what is open is now.
 *
 * @internal
 */
export const whereIs = (path: string): Effect.Effect<string, PlatformError> =>
  call<string>("readLink", path, (done) => fs.readlink(path, done))

const typeOf = (stats: fs.Stats): PlatformFileSystem.File.Type => {
  if (stats.isFile()) return "File"
  if (stats.isDirectory()) return "Directory"
  if (stats.isSymbolicLink()) return "SymbolicLink"
  if (stats.isFIFO()) return "FIFO"
  if (stats.isSocket()) return "Socket"
  if (stats.isCharacterDevice()) return "CharacterDevice"
  return stats.isBlockDevice() ? "BlockDevice" : "Unknown"
}

/** @internal */
export const infoOf = (stats: fs.Stats): PlatformFileSystem.File.Info => ({
  type: typeOf(stats),
  mtime: Option.some(stats.mtime),
  atime: Option.some(stats.atime),
  birthtime: Option.some(stats.birthtime),
  dev: stats.dev,
  ino: Option.some(stats.ino),
  mode: stats.mode,
  nlink: Option.some(stats.nlink),
  uid: Option.some(stats.uid),
  gid: Option.some(stats.gid),
  rdev: Option.some(stats.rdev),
  size: PlatformFileSystem.Size(stats.size),
  blksize: Option.some(PlatformFileSystem.Size(stats.blksize)),
  blocks: Option.some(stats.blocks)
})

/** @internal */
export const stat = (descriptor: number): Effect.Effect<PlatformFileSystem.File.Info, PlatformError> =>
  Effect.map(
    call<fs.Stats>("stat", descriptor, (done) => fs.fstat(descriptor, done)),
    infoOf
  )
