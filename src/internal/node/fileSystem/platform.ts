/**
 * The platform that `FileSystem` stands on, on Node.
 */
import * as path from "node:path"
import * as PlatformFileSystem from "@effect/platform/FileSystem"
import * as PlatformPath from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { byPath, PlatformReach } from "../../capability/fileSystem/reach.js"
import { byDescriptor } from "./byDescriptor.js"
import * as Descriptor from "./descriptor.js"
import { disk } from "./disk.js"

const paths = Layer.effect(
  PlatformPath.Path,
  Effect.map(PlatformPath.Path, (portable) => PlatformPath.Path.of({ ...portable, ...path }))
).pipe(Layer.provide(PlatformPath.layer))

/** @internal */
export const platform: Layer.Layer<PlatformFileSystem.FileSystem | PlatformPath.Path | PlatformReach> = Layer.mergeAll(
  Layer.succeed(PlatformFileSystem.FileSystem, disk),
  Layer.succeed(PlatformReach, Descriptor.isPath ? byDescriptor : byPath),
  paths
)
