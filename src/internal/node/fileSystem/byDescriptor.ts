/**
 * Reaches what was found through folders that are open, so that nothing that takes its place meanwhile is touched.
 *
 * Invariants
 *
 * D1. What is done to a name is done in a folder that is open, which was the one at its real path when it was opened:
 *     asked of the folder itself, after it was opened.
 * D2. Below that, each folder on the way is opened in the one before it, and a link is not opened.
 * D3. A file is opened to read through the descriptor that was looked at. So a pipe or a device is never opened, and the
 *     file is the one that was looked at.
 */
import type * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { Problem, Ways } from "../../capability/fileSystem/problem.js"
import * as Descriptor from "./descriptor.js"

const moved: Problem = { reason: "NotADirectory", detail: "a folder on its path was moved, or became a link" }

const isNoLink = ({ type }: PlatformFileSystem.File.Info): Effect.Effect<void, Problem> =>
  type === "SymbolicLink" ? Effect.fail({ reason: "NotAFile", detail: "it became a link" }) : Effect.void

// It ends in a slash: the path of the descriptor itself is a link, and the folder is what it leads to.
const held = (descriptor: number): string => `${Descriptor.pathOf(descriptor)}/`

/** @internal */
export const byDescriptor: Ways = {
  hold: (platform, real) =>
    Effect.gen(function* () {
      const folder = held(yield* platform.call(Descriptor.open(real, Descriptor.folderOnly)))
      yield* byDescriptor.mustStay(platform, folder, real) // D1
      return folder
    }),
  enter: ({ call }, folder, name) =>
    Effect.map(call(Descriptor.open(`${folder}/${name}`, Descriptor.folderOnly)), held), // D2
  mustStay: ({ call }, folder, real) =>
    Effect.flatMap(call(Descriptor.whereIs(folder.slice(0, -1))), (now) =>
      now === real ? Effect.void : Effect.fail(moved)
    ),
  mustBeReal: () => Effect.void, // what is held is no path that could be led astray
  open: ({ call, fs }, at, mayOpen) =>
    Effect.flatMap(Effect.scope, (scope) =>
      Effect.gen(function* () {
        const descriptor = yield* call(Descriptor.open(at, Descriptor.pathOnly | Descriptor.O_NOFOLLOW))
        const info = yield* call(Descriptor.stat(descriptor))
        yield* isNoLink(info)
        yield* mayOpen(info)
        const opening = call(fs.open(Descriptor.pathOf(descriptor), { flag: "r" })) // D3
        return { file: yield* Scope.extend(opening, scope), info }
      }).pipe(Effect.scoped)
    ),
  pathOf: ({ fd }) => Descriptor.pathOf(fd)
}
