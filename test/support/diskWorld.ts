/**
 * The view that another program has of a `FileSystem` on a real disk.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { Error as PlatformError } from "@effect/platform"
import { Effect, Layer, type Scope } from "effect"
import { FileSystem } from "quiesce/capability"
import type { Contents, Files, World } from "./contracts/fileSystem.js"
import { makeFolder } from "./folder.js"
import { type grounds, makeDevice, makePipe, Platform, rest } from "./observedPlatform.js"

const isRoot = process.getuid?.() === 0

/** How many files below a folder this process has open. */
const openBelow = (folder: string): number =>
  fs.readdirSync("/proc/self/fd").filter((descriptor) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(`${folder}/`)
    } catch {
      return false // that of the listing itself
    }
  }).length

const past = 978_307_200 // the first second of 2001

const isFile = (content: Contents[string]): boolean =>
  typeof content === "string" || content instanceof Uint8Array || content?.kind === "file"

/** A `FileSystem` on the disk, with a root in a folder of its own. */
export const diskWorld =
  (ground: keyof typeof grounds) =>
  (contents: Contents): Effect.Effect<World, never, Scope.Scope> =>
    Effect.gen(function* () {
      const base = yield* makeFolder
      const root = path.join(base, "root")
      const put: World["put"] = (name, content) =>
        Effect.sync(() => {
          const file = path.resolve(root, name)
          fs.mkdirSync(path.dirname(file), { recursive: true })
          if (typeof content === "string" || content instanceof Uint8Array) return fs.writeFileSync(file, content)
          switch (content.kind) {
            case "file":
              fs.writeFileSync(file, content.text)
              if (content.mode !== undefined) fs.chmodSync(file, content.mode)
              return
            case "folder":
              fs.mkdirSync(file)
              return
            case "link":
              return fs.symlinkSync(content.target, file)
            case "pipe":
              return makePipe(file)
            default:
              return makeDevice(file)
          }
        })
      const reset = (next: Contents): Effect.Effect<void> =>
        Effect.gen(function* () {
          for (const name of fs.readdirSync(base)) fs.rmSync(path.join(base, name), { recursive: true })
          fs.mkdirSync(root)
          for (const [name, content] of Object.entries(next)) {
            yield* put(name, content)
            // Older than what replaces it, always: a write within the same millisecond makes two calls more (W1), and the
            // cancels of this contract are placed by the number of a call.
            if (isFile(content)) fs.utimesSync(path.resolve(root, name), past, past)
          }
        })
      const lookAt = (folder: string): Files => {
        const seen: { [name: string]: string } = {}
        for (const name of fs.readdirSync(folder)) {
          const file = path.join(folder, name)
          const info = fs.lstatSync(file)
          const key = file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file.slice(base.length)
          if (info.isSymbolicLink()) seen[key] = `-> ${fs.readlinkSync(file)}`
          else if (info.isFile()) seen[key] = fs.readFileSync(file, "utf8")
          else if (info.isDirectory()) {
            if (file !== root) seen[key] = "/"
            Object.assign(seen, lookAt(file))
          } else seen[key] = "|"
        }
        return seen
      }
      const interventions: Array<Parameters<World["intervene"]>[0]> = []
      const around = (when: "before" | "after") => (method: string, count: number) =>
        Effect.forEach(interventions, (act) => act({ method, path: "", when, count }), { discard: true })
      const platform = new Platform({ before: around("before"), after: around("after") }, ground)
      const layer = Layer.provide(FileSystem.layer({ root }), platform.layer)
      yield* reset(contents)
      return {
        files: yield* Layer.build(layer),
        look: Effect.sync(() => lookAt(base)),
        put,
        discard: (name) => Effect.sync(() => fs.rmSync(path.resolve(root, name), { recursive: true })),
        reset,
        openFiles: Effect.sync(() => openBelow(base)),
        calls: Effect.sync(() => [...platform.calls]),
        running: Effect.sync(() => platform.running),
        intervene: (act) => Effect.sync(() => void interventions.push(act)),
        failure: (code, { method }) =>
          new PlatformError.SystemError({
            module: "FileSystem",
            method,
            reason: "Unknown",
            description: `${code}: refused, ${method}`,
            cause: Object.assign(new Error(code), { code })
          }),
        settle: Effect.asVoid(rest),
        canPut: (kind) => (kind === "device" ? isRoot : !isRoot)
      }
    })
