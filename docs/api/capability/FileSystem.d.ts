import * as PlatformFileSystem from "@effect/platform/FileSystem";
import * as PlatformPath from "@effect/platform/Path";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as Schema from "effect/Schema";
import * as Cancellation from "../Cancellation.js";
export declare const Reason: Schema.Literal<["NotFound", "AlreadyExists", "PermissionDenied", "IsDirectory", "NotADirectory", "NotAFile", "NotText", "TooLarge", "OutsideRoot", "NoSpace", "InvalidPath", "Unknown"]>;
export type Reason = typeof Reason.Type;
declare const FileSystemError_base: Schema.TaggedErrorClass<FileSystemError, "FileSystemError", {
    readonly _tag: Schema.tag<"FileSystemError">;
} & {
    operation: Schema.Literal<["readText", "list", "writeText"]>;
    path: typeof Schema.String;
    reason: Schema.Literal<["NotFound", "AlreadyExists", "PermissionDenied", "IsDirectory", "NotADirectory", "NotAFile", "NotText", "TooLarge", "OutsideRoot", "NoSpace", "InvalidPath", "Unknown"]>;
    detail: Schema.optional<typeof Schema.String>;
    cause: Schema.optional<typeof Schema.Defect>;
}>;
export declare class FileSystemError extends FileSystemError_base {
    get code(): string;
    get message(): string;
}
export declare const Entry: Schema.Struct<{
    name: typeof Schema.String;
    kind: Schema.Literal<["file", "directory", "link", "other"]>;
}>;
export type Entry = typeof Entry.Type;
export interface ReadTextOptions {
    readonly maxBytes?: number | undefined;
}
export interface Service {
    readonly readText: (path: string, options?: ReadTextOptions) => Effect.Effect<string, FileSystemError, Cancellation.Cancellation>;
    readonly list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, Cancellation.Cancellation>;
    readonly writeText: (path: string, text: string) => Effect.Effect<void, FileSystemError, Cancellation.Cancellation>;
}
declare const FileSystem_base: Context.TagClass<FileSystem, "quiesce/capability/FileSystem", Service>;
export declare class FileSystem extends FileSystem_base {
}
export declare const readText: (path: string, options?: ReadTextOptions) => Effect.Effect<string, FileSystemError, FileSystem | Cancellation.Cancellation>;
export declare const list: (path: string) => Effect.Effect<ReadonlyArray<Entry>, FileSystemError, FileSystem | Cancellation.Cancellation>;
export declare const writeText: (path: string, text: string) => Effect.Effect<void, FileSystemError, FileSystem | Cancellation.Cancellation>;
export declare const layer: (options?: {
    readonly root?: string | undefined;
}) => Layer.Layer<FileSystem, never, PlatformFileSystem.FileSystem | PlatformPath.Path>;
export {};
