/**
 * A file system in memory that answers as the one of the platform does: the calls that `FileSystem` makes, with the codes
 * of POSIX.
 *
 * Opening a pipe or a device, which on a real system could block for good, is a defect here. There is one user, who is
 * not root: the bits for the owner are what counts.
 */

/** @internal */
export interface FileNode {
  readonly kind: "file"
  readonly ino: number
  bytes: Uint8Array
  mode: number
  mtime: number
}

interface FolderNode {
  readonly kind: "folder"
  readonly ino: number
  readonly entries: Map<string, Node>
  mode: number
  mtime: number
}

interface LinkNode {
  readonly kind: "link"
  readonly ino: number
  readonly target: string
  mode: number
  mtime: number
}

interface OtherNode {
  readonly kind: "pipe" | "device"
  readonly ino: number
  mode: number
  mtime: number
}

/** @internal */
export type Node = FileNode | FolderNode | LinkNode | OtherNode

/**
 * Why the system refuses, by its code.
 *
 * @internal
 */
export class Refused {
  readonly code: string

  constructor(code: string) {
    this.code = code
  }
}

/** Where a path leads: a name in a folder, and what is there. The root has no folder. */
interface Spot {
  readonly folder: FolderNode | undefined
  readonly name: string
  readonly node: Node | undefined
  readonly real: string
}

const noent = new Refused("ENOENT")
const encoder = new TextEncoder()

const partsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((part) => part !== "" && part !== ".")

const mayWrite = (node: Node): boolean => (node.mode & 0o200) !== 0
const mayRead = (node: Node): boolean => (node.mode & 0o400) !== 0

/** @internal */
export class Disk {
  readonly root: FolderNode = { kind: "folder", ino: 1, entries: new Map(), mode: 0o755, mtime: 0 }
  private inodes = 1
  /** Numbers of files that were replaced. They are used again, as real systems do. */
  private readonly free: Array<number> = []
  private temporary = 0

  walk(path: string, follow: boolean): Spot | Refused {
    if (encoder.encode(path).length > 4095) return new Refused("ENAMETOOLONG")
    const rest = [...partsOf(path)]
    let way: ReadonlyArray<{ readonly name: string; readonly folder: FolderNode }> = []
    for (let links = 0, name = rest.shift(); name !== undefined; name = rest.shift()) {
      const folder = way.at(-1)?.folder ?? this.root
      if (name === "..") {
        way = way.slice(0, -1)
        continue
      }
      if (encoder.encode(name).length > 255) return new Refused("ENAMETOOLONG")
      const node = folder.entries.get(name)
      if (node?.kind === "link" && (follow || rest.length > 0)) {
        if (++links > 40) return new Refused("ELOOP")
        if (node.target.startsWith("/")) way = []
        rest.unshift(...partsOf(node.target))
        continue
      }
      if (rest.length === 0) {
        return { folder, name, node, real: `/${[...way.map((step) => step.name), name].join("/")}` }
      }
      if (node === undefined) return noent
      if (node.kind !== "folder") return new Refused("ENOTDIR")
      way = [...way, { name, folder: node }]
    }
    const last = way.at(-1)
    return {
      folder: last === undefined ? undefined : (way.at(-2)?.folder ?? this.root),
      name: last?.name ?? "",
      node: last?.folder ?? this.root,
      real: `/${way.map((step) => step.name).join("/")}`
    }
  }

  /** What a path leads to. */
  find(path: string, follow = true): Node | Refused {
    const spot = this.walk(path, follow)
    return spot instanceof Refused ? spot : (spot.node ?? noent)
  }

  realPath(path: string): string | Refused {
    const spot = this.walk(path, true)
    return spot instanceof Refused ? spot : spot.node === undefined ? noent : spot.real
  }

  /** Puts something new at a free name. */
  create(path: string, make: (ino: number) => Node, options: { readonly byForce?: boolean } = {}): Node | Refused {
    const spot = this.walk(path, false)
    if (spot instanceof Refused) return spot
    const { folder, name, node } = spot
    if (folder === undefined || (node !== undefined && options.byForce !== true)) return new Refused("EEXIST")
    if (!mayWrite(folder) && options.byForce !== true) return new Refused("EACCES")
    const made = make(++this.inodes)
    folder.entries.set(name, made)
    return made
  }

  makeFolder(
    path: string,
    now: number,
    options: { readonly recursive: boolean; readonly mode: number }
  ): Node | Refused {
    const make = (ino: number): Node => ({
      kind: "folder",
      ino,
      entries: new Map(),
      mode: options.mode,
      mtime: now
    })
    if (!options.recursive) return this.create(path, make)
    const there = this.find(path)
    if (!(there instanceof Refused)) return there.kind === "folder" ? there : new Refused("EEXIST")
    const parts = partsOf(path)
    const above = parts.length < 2 ? this.root : this.makeFolder(`/${parts.slice(0, -1).join("/")}`, now, options)
    return above instanceof Refused ? above : this.create(path, make)
  }

  makeTemporary(prefix: string, now: number): string | Refused {
    const path = `${prefix}${String(this.temporary++).padStart(6, "0")}`
    const made = this.makeFolder(path, now, { recursive: false, mode: 0o700 })
    return made instanceof Refused ? made : path
  }

  openFile(path: string, flag: string, now: number): FileNode | Refused {
    if (flag === "wx") {
      const make = (next: number): FileNode => {
        const ino = this.free.pop() ?? next
        return { kind: "file", ino, bytes: new Uint8Array(), mode: 0o644, mtime: now }
      }
      return this.create(path, make) as FileNode | Refused
    }
    const node = this.find(path)
    if (node instanceof Refused) return node
    // Also a folder can be opened, and cannot be read.
    return mayRead(node) ? (node as FileNode) : new Refused("EACCES")
  }

  names(path: string): Array<string> | Refused {
    const node = this.find(path)
    if (node instanceof Refused) return node
    if (node.kind !== "folder") return new Refused("ENOTDIR")
    return mayRead(node) ? [...node.entries.keys()] : new Refused("EACCES")
  }

  readLink(path: string): string | Refused {
    const node = this.find(path, false)
    return node instanceof Refused ? node : node.kind === "link" ? node.target : new Refused("EINVAL")
  }

  remove(path: string, options: { readonly recursive: boolean; readonly force: boolean }): undefined | Refused {
    const spot = this.walk(path, false)
    if (spot instanceof Refused) return spot.code === "ENOENT" && options.force ? undefined : spot
    const { folder, name, node } = spot
    if (node === undefined) return options.force ? undefined : noent
    if (folder === undefined) return new Refused("EBUSY")
    if (node.kind === "folder" && !options.recursive) return new Refused("EISDIR")
    if (node.kind === "folder") {
      for (const child of node.entries.keys()) {
        const refused = this.remove(`${path}/${child}`, options)
        if (refused !== undefined) return refused
      }
    }
    if (!mayWrite(folder)) return new Refused("EACCES")
    folder.entries.delete(name)
    return undefined
  }

  rename(from: string, to: string): undefined | Refused {
    const source = this.walk(from, false)
    if (source instanceof Refused) return source
    const target = this.walk(to, false)
    if (target instanceof Refused) return target
    const { node } = source
    if (node === undefined) return noent
    if (source.folder === undefined || target.folder === undefined) return new Refused("EBUSY")
    if (!mayWrite(source.folder) || !mayWrite(target.folder)) return new Refused("EACCES")
    const there = target.node
    if (there !== undefined && there.kind === "folder") {
      if (node.kind !== "folder") return new Refused("EISDIR")
      if (there.entries.size > 0) return new Refused("ENOTEMPTY")
    } else if (there !== undefined && node.kind === "folder") return new Refused("ENOTDIR")
    if (there !== undefined && there !== node) this.free.push(there.ino)
    source.folder.entries.delete(source.name)
    target.folder.entries.set(target.name, node)
    return undefined
  }
}
