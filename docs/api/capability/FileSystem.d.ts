import * as PlatformFileSystem from "@effect/platform/FileSystem";
import * as PlatformPath from "@effect/platform/Path";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import * as Stream from "effect/Stream";
import type * as Cancellation from "../Cancellation.js";
export declare const Reason: Schema.Literal<["NotFound", "AlreadyExists", "PermissionDenied", "IsDirectory", "NotADirectory", "NotAFile", "NotText", "TooLarge", "OutsideRoot", "NoSpace", "InvalidPath", "StaleVersion", "TextNotFound", "TextAmbiguous", "Unknown"]>;
export type Reason = typeof Reason.Type;
declare const FileSystemError_base: Schema.TaggedErrorClass<FileSystemError, "FileSystemError", {
    readonly _tag: Schema.tag<"FileSystemError">;
} & {
    operation: Schema.Literal<["resolve", "stat", "lstat", "readText", "readVersioned", "readBytes", "streamText", "list", "writeText", "editText", "remove", "copy"]>;
    path: typeof Schema.String;
    to: Schema.optional<typeof Schema.String>;
    reason: Schema.Literal<["NotFound", "AlreadyExists", "PermissionDenied", "IsDirectory", "NotADirectory", "NotAFile", "NotText", "TooLarge", "OutsideRoot", "NoSpace", "InvalidPath", "StaleVersion", "TextNotFound", "TextAmbiguous", "Unknown"]>;
    detail: Schema.optional<typeof Schema.String>;
    removed: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    cause: Schema.optional<typeof Schema.Defect>;
}>;
export declare class FileSystemError extends FileSystemError_base {
    get code(): string;
    get message(): string;
}
export declare const Kind: Schema.Literal<["file", "directory", "link", "other"]>;
export type Kind = typeof Kind.Type;
export declare const Entry: Schema.Struct<{
    name: typeof Schema.String;
    kind: Schema.Literal<["file", "directory", "link", "other"]>;
}>;
export type Entry = typeof Entry.Type;
export declare const Version: Schema.brand<typeof Schema.String, "quiesce/capability/FileSystem/Version">;
export type Version = typeof Version.Type;
export declare const Info: Schema.Struct<{
    kind: Schema.Literal<["file", "directory", "link", "other"]>;
    size: Schema.refine<number, typeof Schema.NonNegative>;
    modifiedMillis: Schema.optional<typeof Schema.Int>;
    mode: Schema.optional<Schema.refine<number, typeof Schema.NonNegative>>;
    target: Schema.optional<typeof Schema.String>;
    version: Schema.brand<typeof Schema.String, "quiesce/capability/FileSystem/Version">;
}>;
export type Info = typeof Info.Type;
export interface Target {
    readonly path: string;
    readonly exists: boolean;
}
export interface VersionedText {
    readonly text: string;
    readonly version: Version;
}
export interface ReadOptions {
    readonly maxBytes?: number | undefined;
}
export interface WriteOptions {
    readonly expected?: Version | undefined;
}
export interface Edit {
    readonly find: string;
    readonly replace: string;
    readonly all?: boolean | undefined;
}
export interface RemoveOptions {
    readonly recursive?: boolean | undefined;
}
export interface CopyOptions {
    readonly recursive?: boolean | undefined;
    readonly overwrite?: boolean | undefined;
}
export interface Service {
    readonly resolve: (path: string) => Effect.Effect<Target, FileSystemError, Cancellation.Cancellation>;
    readonly stat: (path: string) => Effect.Effect<Info, FileSystemError, Cancellation.Cancellation>;
    readonly lstat: (path: string) => Effect.Effect<Info, FileSystemError, Cancellation.Cancellation>;
    readonly readText: (path: string, options?: ReadOptions) => Effect.Effect<string, FileSystemError, Cancellation.Cancellation>;
    readonly readVersioned: (path: string, options?: ReadOptions) => Effect.Effect<VersionedText, FileSystemError, Cancellation.Cancellation>;
    readonly readBytes: (path: string, options?: ReadOptions) => Effect.Effect<Uint8Array, FileSystemError, Cancellation.Cancellation>;
    readonly streamText: (path: string) => Stream.Stream<string, FileSystemError, Cancellation.Cancellation>;
    readonly list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Cancellation.Cancellation>;
    readonly writeText: (path: string, text: string, options?: WriteOptions) => Effect.Effect<Version, FileSystemError, Cancellation.Cancellation>;
    readonly editText: (path: string, edits: ReadonlyArray<Edit>, options?: WriteOptions) => Effect.Effect<Version, FileSystemError, Cancellation.Cancellation>;
    readonly remove: (path: string, options?: RemoveOptions) => Effect.Effect<number, FileSystemError, Cancellation.Cancellation>;
    readonly copy: (from: string, to: string, options?: CopyOptions) => Effect.Effect<void, FileSystemError, Cancellation.Cancellation>;
}
declare const FileSystem_base: Context.TagClass<FileSystem, "quiesce/capability/FileSystem", Service>;
export declare class FileSystem extends FileSystem_base {
}
type Needs = FileSystem | Cancellation.Cancellation;
export declare const resolve: (path: string) => Effect.Effect<Target, FileSystemError, Needs>;
export declare const stat: (path: string) => Effect.Effect<Info, FileSystemError, Needs>;
export declare const lstat: (path: string) => Effect.Effect<Info, FileSystemError, Needs>;
export declare const readText: (path: string, options?: ReadOptions) => Effect.Effect<string, FileSystemError, Needs>;
export declare const readVersioned: (path: string, options?: ReadOptions) => Effect.Effect<VersionedText, FileSystemError, Needs>;
export declare const readBytes: (path: string, options?: ReadOptions) => Effect.Effect<Uint8Array, FileSystemError, Needs>;
export declare const streamText: (path: string) => Stream.Stream<string, FileSystemError, Needs>;
export declare const list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Needs>;
export declare const writeText: (path: string, text: string, options?: WriteOptions) => Effect.Effect<Version, FileSystemError, Needs>;
export declare const editText: (path: string, edits: ReadonlyArray<Edit>, options?: WriteOptions) => Effect.Effect<Version, FileSystemError, Needs>;
export declare const remove: (path: string, options?: RemoveOptions) => Effect.Effect<number, FileSystemError, Needs>;
export declare const copy: (from: string, to: string, options?: CopyOptions) => Effect.Effect<void, FileSystemError, Needs>;
export declare const layer: (options?: {
    readonly root?: string | undefined;
}) => Layer.Layer<FileSystem, never, PlatformFileSystem.FileSystem | PlatformPath.Path>;
export {};
