import * as Layer from "effect/Layer";
import * as FileSystem from "../capability/FileSystem.js";
export declare const layer: (options?: {
    readonly root?: string | undefined;
}) => Layer.Layer<FileSystem.FileSystem>;
