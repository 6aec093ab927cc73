import type { PlatformError } from "@effect/platform/Error";
import * as Context from "effect/Context";
import * as Effect from "effect/Effect";
import * as Layer from "effect/Layer";
import * as FileSystem from "../capability/FileSystem.js";
export type Content = string | Uint8Array | {
    readonly kind: "folder" | "pipe" | "device";
    readonly mode?: number | undefined;
} | {
    readonly kind: "file";
    readonly text: string;
    readonly mode?: number | undefined;
} | {
    readonly kind: "link";
    readonly target: string;
};
export interface Options {
    readonly files?: {
        readonly [path: string]: Content;
    } | undefined;
    readonly root?: string | undefined;
}
export interface Call {
    readonly method: string;
    readonly path: string;
    readonly when: "before" | "after";
    readonly count: number;
}
export interface At {
    readonly when?: "before" | "after" | undefined;
    readonly count?: number | undefined;
}
export interface Hold {
    readonly reached: Effect.Effect<void>;
    readonly release: Effect.Effect<void>;
}
export interface Service {
    readonly files: Effect.Effect<{
        readonly [path: string]: string;
    }>;
    readonly put: (path: string, content: Content) => Effect.Effect<void>;
    readonly discard: (path: string) => Effect.Effect<void>;
    readonly openFiles: Effect.Effect<ReadonlyArray<string>>;
    readonly calls: Effect.Effect<ReadonlyArray<string>>;
    readonly intervene: (intervention: (call: Call) => Effect.Effect<void, PlatformError>) => Effect.Effect<void>;
    readonly hold: (method: string, at?: At) => Effect.Effect<Hold>;
    readonly fail: (method: string, code: string, at?: At) => Effect.Effect<void>;
}
declare const MemoryFileSystem_base: Context.TagClass<MemoryFileSystem, "quiesce/testing/MemoryFileSystem", Service>;
export declare class MemoryFileSystem extends MemoryFileSystem_base {
}
export declare const layer: (options?: Options) => Layer.Layer<FileSystem.FileSystem | MemoryFileSystem>;
export {};
