import * as Schedule from "effect/Schedule";
import type * as Stream from "effect/Stream";
import type { Cancellation } from "../Cancellation.js";
import * as Approval from "../capability/Approval.js";
import * as CodeRuntime from "../capability/CodeRuntime.js";
import * as FileSystem from "../capability/FileSystem.js";
import * as Http from "../capability/Http.js";
import * as Model from "../capability/Model.js";
import * as Process from "../capability/Process.js";
import * as Subagent from "../capability/Subagent.js";
import * as Task from "../capability/Task.js";
import * as Seam from "./Seam.js";
declare const fileSystemOperations: {
    readonly resolve: "effect";
    readonly stat: "effect";
    readonly lstat: "effect";
    readonly readText: "effect";
    readonly readVersioned: "effect";
    readonly readBytes: "effect";
    readonly streamText: "stream";
    readonly list: "effect";
    readonly writeText: "effect";
    readonly editText: "effect";
    readonly remove: "effect";
    readonly copy: "effect";
};
export interface FileSystemSeam extends Seam.Of<FileSystem.Service, typeof fileSystemOperations> {
}
export declare const fileSystem: Seam.Definition<FileSystem.FileSystem, FileSystem.Service, FileSystemSeam>;
declare const processOperations: {
    readonly run: "effect";
    readonly start: {
        readonly kind: "effect";
        readonly gives: {
            readonly pid: "sync";
            readonly command: "sync";
            readonly status: "get at-once";
            readonly kill: "at-once";
            readonly awaitExit: "get effect";
            readonly read: "at-once";
            readonly write: "effect";
            readonly closeStdin: "get effect";
        };
    };
    readonly openSession: {
        readonly kind: "effect";
        readonly gives: {
            readonly pid: "sync";
            readonly status: "get at-once";
            readonly send: "effect";
            readonly close: "get effect";
        };
    };
    readonly list: {
        readonly kind: "get at-once";
        readonly gives: {
            readonly pid: "sync";
            readonly command: "sync";
            readonly status: "get at-once";
            readonly kill: "at-once";
            readonly awaitExit: "get effect";
            readonly read: "at-once";
            readonly write: "effect";
            readonly closeStdin: "get effect";
        };
    };
};
export interface ProcessSeam extends Seam.Of<Process.Service, typeof processOperations> {
}
export declare const process: Seam.Definition<Process.Process, Process.Service, ProcessSeam>;
export interface Retry {
    readonly times: number;
    readonly delayMillis?: number | undefined;
}
type Bytes = string | Uint8Array;
declare const httpOperations: {
    readonly request: {
        readonly kind: "effect";
        readonly takes: {
            readonly body: Seam.Codec<Bytes | AsyncIterable<Uint8Array<ArrayBufferLike>>, Stream.Stream<Uint8Array<ArrayBufferLike>, unknown, Cancellation> | Bytes>;
            readonly retry: Seam.Codec<Retry, Schedule.Schedule<unknown, Http.HttpError, never>>;
        };
        readonly gives: {
            readonly url: "sync";
            readonly status: "sync";
            readonly headers: "sync";
            readonly body: "get stream";
            readonly text: "get effect";
            readonly drop: "get effect";
        };
        readonly endedBy: readonly ["body", "text", "drop"];
    };
    readonly text: {
        readonly kind: "effect";
        readonly takes: {
            readonly body: Seam.Codec<Bytes | AsyncIterable<Uint8Array<ArrayBufferLike>>, Stream.Stream<Uint8Array<ArrayBufferLike>, unknown, Cancellation> | Bytes>;
            readonly retry: Seam.Codec<Retry, Schedule.Schedule<unknown, Http.HttpError, never>>;
        };
    };
    readonly stream: {
        readonly kind: "stream";
        readonly takes: {
            readonly body: Seam.Codec<Bytes | AsyncIterable<Uint8Array<ArrayBufferLike>>, Stream.Stream<Uint8Array<ArrayBufferLike>, unknown, Cancellation> | Bytes>;
            readonly retry: Seam.Codec<Retry, Schedule.Schedule<unknown, Http.HttpError, never>>;
        };
    };
    readonly download: {
        readonly kind: "effect";
        readonly takes: {
            readonly body: Seam.Codec<Bytes | AsyncIterable<Uint8Array<ArrayBufferLike>>, Stream.Stream<Uint8Array<ArrayBufferLike>, unknown, Cancellation> | Bytes>;
            readonly retry: Seam.Codec<Retry, Schedule.Schedule<unknown, Http.HttpError, never>>;
        };
    };
};
export interface HttpSeam extends Seam.Of<Http.Service, typeof httpOperations> {
}
export declare const http: Seam.Definition<Http.Http, Http.Service, HttpSeam>;
declare const taskOperations: {
    readonly start: {
        readonly kind: "effect";
        readonly takes: {
            readonly run: {
                toEffect: (call: import("../internal/promise/seamCallback.js").PromiseCallback<[task: Task.Running]>) => import("../internal/promise/seamCallback.js").EffectCallback<[task: Task.Running]>;
                toPromise: (call: import("../internal/promise/seamCallback.js").EffectCallback<[task: Task.Running]>) => import("../internal/promise/seamCallback.js").PromiseCallback<[task: Task.Running]>;
            };
        };
    };
    readonly wait: "effect";
    readonly read: "at-once";
    readonly kill: "at-once";
    readonly list: "get at-once";
};
export interface TaskSeam extends Seam.Of<Task.Service, typeof taskOperations> {
}
export declare const task: Seam.Definition<Task.Task, Task.Service, TaskSeam>;
declare const subagentOperations: {
    readonly start: {
        readonly kind: "effect";
        readonly takes: {
            readonly attachment: Seam.Codec<"detached", "attached" | "detached">;
        };
    };
    readonly send: "effect";
    readonly wait: "effect";
    readonly interrupt: "at-once";
    readonly dispose: "effect";
    readonly list: "get at-once";
};
export interface SubagentSeam extends Seam.Of<Subagent.Service, typeof subagentOperations> {
}
export declare const subagent: Seam.Definition<Subagent.Subagent, Subagent.Service, SubagentSeam>;
declare const codeOperations: {
    readonly run: {
        readonly kind: "effect";
        readonly takes: {
            readonly bindings: {
                toEffect: (all: import("../internal/promise/seamCallback.js").Named<import("../internal/promise/seamCallback.js").PromiseCallback<[argument: unknown]>>) => import("../internal/promise/seamCallback.js").Named<import("../internal/promise/seamCallback.js").EffectCallback<[argument: unknown]>>;
                toPromise: (all: import("../internal/promise/seamCallback.js").Named<import("../internal/promise/seamCallback.js").EffectCallback<[argument: unknown]>>) => import("../internal/promise/seamCallback.js").Named<import("../internal/promise/seamCallback.js").PromiseCallback<[argument: unknown]>>;
            };
        };
    };
};
export interface CodeRuntimeSeam extends Seam.Of<CodeRuntime.Service, typeof codeOperations> {
}
export declare const codeRuntime: Seam.Definition<CodeRuntime.CodeRuntime, CodeRuntime.Service, CodeRuntimeSeam>;
declare const modelOperations: {
    readonly stream: "stream";
};
export interface ModelSeam extends Seam.Of<Model.Service, typeof modelOperations> {
}
export declare const model: Seam.Definition<Model.Model, Model.Service, ModelSeam>;
declare const approvalOperations: {
    readonly request: "effect";
};
export interface ApprovalSeam extends Seam.Of<Approval.Service, typeof approvalOperations> {
}
export declare const approval: Seam.Definition<Approval.Approval, Approval.Service, ApprovalSeam>;
export {};
