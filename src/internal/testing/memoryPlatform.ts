/**
 * The platform's `FileSystem` over a `Disk`, as far as ours needs it, with a place to intervene around each call.
 */
import { BadArgument, type PlatformError, SystemError, type SystemErrorReason } from "@effect/platform/Error"
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { Disk, type FileNode, type Node, Refused } from "./memoryDisk.js"

/** @internal */
export interface Call {
  readonly method: string
  readonly path: string
  readonly when: "before" | "after"
  /** How often the method was called, this call included. */
  readonly count: number
}

/** @internal */
export type Intervention = (call: Call) => Effect.Effect<void, PlatformError>

const reasons: { readonly [code: string]: SystemErrorReason } = {
  ENOENT: "NotFound",
  EEXIST: "AlreadyExists",
  EACCES: "PermissionDenied"
}

/** The failure that the platform makes of a code of the system. */
export const systemError = (code: string, method: string, path: string): PlatformError =>
  new SystemError({
    module: "FileSystem",
    method,
    reason: reasons[code] ?? "Unknown",
    pathOrDescriptor: path,
    description: `${code}: refused, ${method} '${path}'`,
    cause: Object.assign(new Error(`${code}: refused`), { code })
  })

const types: { readonly [K in Node["kind"]]: PlatformFileSystem.File.Type } = {
  file: "File",
  folder: "Directory",
  link: "SymbolicLink",
  pipe: "FIFO",
  device: "CharacterDevice"
}

const infoOf = (node: Node): PlatformFileSystem.File.Info => ({
  type: types[node.kind],
  mtime: Option.some(DateTime.toDate(DateTime.unsafeMake(node.mtime))),
  atime: Option.none(),
  birthtime: Option.none(),
  dev: 1,
  rdev: Option.none(),
  ino: Option.some(node.ino),
  mode: node.mode,
  nlink: Option.none(),
  uid: Option.none(),
  gid: Option.none(),
  size: PlatformFileSystem.Size(node.kind === "file" ? node.bytes.length : 0),
  blksize: Option.none(),
  blocks: Option.none()
})

/** With room for as much again: a file that grows chunk by chunk is not copied for each of them. */
const appended = (to: Uint8Array, bytes: Uint8Array): Uint8Array => {
  const length = to.length + bytes.length
  const hasRoom = to.byteOffset === 0 && to.buffer.byteLength >= length
  const longer = hasRoom ? to.buffer : new ArrayBuffer(2 * length)
  const result = new Uint8Array(longer, 0, length)
  if (!hasRoom) result.set(to)
  result.set(bytes, to.length)
  return result
}

/** @internal */
export class MemoryPlatform {
  readonly disk = new Disk()
  readonly calls: Array<string> = []
  readonly openFiles = new Map<number, string>()
  readonly interventions: Array<Intervention> = []
  private readonly counts = new Map<string, number>()
  private descriptors = 2

  /** How often a method was called. */
  countOf(method: string): number {
    return this.counts.get(method) ?? 0
  }

  /** One call: other fibers may run before it and after it, and what it does it does in one step. */
  private call<A>(method: string, path: string, act: (now: number) => A | Refused): Effect.Effect<A, PlatformError> {
    return Effect.suspend(() => {
      this.calls.push(method)
      const count = this.countOf(method) + 1
      this.counts.set(method, count)
      const intervene = (when: "before" | "after") =>
        Effect.suspend(() =>
          this.interventions.length === 0
            ? Effect.void
            : Effect.forEach(this.interventions, (act) => act({ method, path, when, count }), { discard: true })
        )
      const answer = Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<A, PlatformError> => {
        if (path.includes("\0")) {
          return new BadArgument({ module: "FileSystem", method, description: "a path holds no NUL" })
        }
        const result = act(now)
        return result instanceof Refused ? Effect.fail(systemError(result.code, method, path)) : Effect.succeed(result)
      })
      return Effect.yieldNow().pipe(
        Effect.zipRight(intervene("before")),
        Effect.zipRight(Effect.exit(answer)),
        Effect.zipLeft(intervene("after")),
        Effect.flatten
      )
    })
  }

  private withNode(method: string, path: string, act: (node: Node) => undefined | Refused) {
    return this.call<void>(method, path, () => {
      const node = this.disk.find(path)
      return node instanceof Refused ? node : act(node)
    })
  }

  private fileOf(node: FileNode, fd: number, path: string): PlatformFileSystem.File {
    let position = 0
    const unsupported = Effect.dieMessage("MemoryFileSystem has no such operation on open files")
    return {
      [PlatformFileSystem.FileTypeId]: PlatformFileSystem.FileTypeId,
      fd: PlatformFileSystem.FileDescriptor(fd),
      stat: this.call("stat", path, () => infoOf(node)),
      seek: () => unsupported,
      sync: this.call("sync", path, () => undefined),
      read: () => unsupported,
      readAlloc: (size) =>
        this.call("readAlloc", path, () => {
          if (node.kind !== "file") return new Refused("EISDIR")
          const bytes = node.bytes.slice(position, position + Number(size))
          position += bytes.length
          return bytes.length === 0 ? Option.none() : Option.some(bytes)
        }),
      truncate: () => unsupported,
      write: () => unsupported,
      writeAll: (bytes) =>
        this.call("writeAll", path, (now) => {
          node.bytes = appended(node.bytes, bytes)
          node.mtime = now
        })
    }
  }

  private open(path: string, flag = "r"): Effect.Effect<PlatformFileSystem.File, PlatformError, Scope.Scope> {
    const opening = Effect.flatMap(
      this.call("open", path, (now) => this.disk.openFile(path, flag, now)),
      (node) => {
        if (node.kind !== "file" && types[node.kind] !== "Directory") {
          return Effect.dieMessage(`${path} was opened: on a real system that could block for good`)
        }
        const fd = ++this.descriptors
        this.openFiles.set(fd, path)
        return Effect.succeed(this.fileOf(node, fd, path))
      }
    )
    return Effect.acquireRelease(opening, ({ fd }) => Effect.sync(() => this.openFiles.delete(fd)))
  }

  readonly fs: PlatformFileSystem.FileSystem = PlatformFileSystem.makeNoop({
    access: (path, options) =>
      this.withNode("access", path, ({ mode }) =>
        options?.writable === true && (mode & 0o200) === 0 ? new Refused("EACCES") : undefined
      ),
    chmod: (path, mode) =>
      this.withNode("chmod", path, (node) => {
        node.mode = mode
        return undefined
      }),
    makeDirectory: (path, options) =>
      Effect.asVoid(
        this.call("makeDirectory", path, (now) =>
          this.disk.makeFolder(path, now, { recursive: options?.recursive ?? false, mode: 0o755 })
        )
      ),
    makeTempDirectory: ({ directory = "/", prefix = "" } = {}) =>
      this.call("makeTempDirectory", directory, (now) => this.disk.makeTemporary(`${directory}/${prefix}`, now)),
    open: (path, options) => this.open(path, options?.flag),
    readDirectory: (path) => this.call("readDirectory", path, () => this.disk.names(path)),
    readLink: (path) => this.call("readLink", path, () => this.disk.readLink(path)),
    realPath: (path) => this.call("realPath", path, () => this.disk.realPath(path)),
    remove: (path, options) =>
      this.call<void>("remove", path, () =>
        this.disk.remove(path, { recursive: options?.recursive ?? false, force: options?.force ?? false })
      ),
    rename: (from, to) => this.call<void>("rename", from, () => this.disk.rename(from, to)),
    stat: (path) =>
      this.call("stat", path, () => {
        const node = this.disk.find(path)
        return node instanceof Refused ? node : infoOf(node)
      }),
    symlink: (target, path) =>
      Effect.asVoid(
        this.call("symlink", path, (now) =>
          this.disk.create(path, (ino) => ({ kind: "link", ino, target, mode: 0o777, mtime: now }))
        )
      ),
    utimes: (path, _atime, mtime) =>
      this.withNode("utimes", path, (node) => {
        node.mtime = Math.round(Number(mtime) * 1000)
        return undefined
      })
  })
}
