import type * as Duration from "effect/Duration";
import * as Schema from "effect/Schema";
import type { Cancellation } from "../Cancellation.js";
import * as FileSystem from "../capability/FileSystem.js";
import * as Tool from "../Tool.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly timeout?: Duration.DurationInput | undefined;
}
export declare const readFile: (options?: Options) => Tool.Tool<"read_file", {
    readonly path: string;
}, string, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>;
export declare const listFiles: (options?: Options) => Tool.Tool<"list_files", any, readonly {
    readonly name: string;
    readonly kind: "link" | "file" | "directory" | "other";
}[], FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>;
export declare const writeFile: (options?: Options) => Tool.Tool<"write_file", {
    readonly text: string;
    readonly path: string;
}, {
    readonly path: string;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>;
export declare const editFile: (options?: Options) => Tool.Tool<"edit_file", {
    readonly path: string;
    readonly edits: readonly [{
        readonly find: string;
        readonly replace: string;
        readonly all: boolean;
    }, ...{
        readonly find: string;
        readonly replace: string;
        readonly all: boolean;
    }[]];
}, {
    readonly path: string;
    readonly edits: number;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>;
export declare const Match: Schema.Struct<{
    path: typeof Schema.String;
    line: typeof Schema.Number;
    text: typeof Schema.String;
}>;
export declare const searchFiles: (options?: Options) => Tool.Tool<"search_files", any, {
    readonly matches: readonly {
        readonly text: string;
        readonly path: string;
        readonly line: number;
    }[];
    readonly isTruncated: boolean;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>;
export declare const make: (options?: Options) => Toolkit.Toolkit<Tool.Tool<"read_file", {
    readonly path: string;
}, string, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem> | Tool.Tool<"list_files", any, readonly {
    readonly name: string;
    readonly kind: "link" | "file" | "directory" | "other";
}[], FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem> | Tool.Tool<"write_file", {
    readonly text: string;
    readonly path: string;
}, {
    readonly path: string;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem> | Tool.Tool<"edit_file", {
    readonly path: string;
    readonly edits: readonly [{
        readonly find: string;
        readonly replace: string;
        readonly all: boolean;
    }, ...{
        readonly find: string;
        readonly replace: string;
        readonly all: boolean;
    }[]];
}, {
    readonly path: string;
    readonly edits: number;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem> | Tool.Tool<"search_files", any, {
    readonly matches: readonly {
        readonly text: string;
        readonly path: string;
        readonly line: number;
    }[];
    readonly isTruncated: boolean;
}, FileSystem.FileSystemError, Cancellation | FileSystem.FileSystem>>;
