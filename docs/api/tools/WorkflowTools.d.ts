import type * as Duration from "effect/Duration";
import * as Schema from "effect/Schema";
import * as Cancellation from "../Cancellation.js";
import * as Workflow from "../capability/Workflow.js";
import * as Tool from "../Tool.js";
import { ToolContext } from "../ToolContext.js";
import * as Toolkit from "../Toolkit.js";
export interface Options {
    readonly timeout?: Duration.DurationInput | undefined;
    readonly maxConcurrency?: number | undefined;
}
export declare const StepResult: Schema.Struct<{
    id: typeof Schema.String;
    status: Schema.Literal<["completed", "failed", "cancelled", "not-started"]>;
    value: Schema.optional<typeof Schema.Unknown>;
    error: Schema.optional<Schema.Struct<{
        code: typeof Schema.String;
        message: typeof Schema.String;
    }>>;
}>;
export type StepResult = typeof StepResult.Type;
declare const PlanError_base: Schema.TaggedErrorClass<PlanError, "PlanError", {
    readonly _tag: Schema.tag<"PlanError">;
} & {
    reason: Schema.Literal<["InvalidPlan", "StepFailed"]>;
    detail: typeof Schema.String;
}>;
export declare class PlanError extends PlanError_base {
    get code(): string;
    get message(): string;
}
export declare const runWorkflow: ({ maxConcurrency, timeout }?: Options) => Tool.Tool<"run_workflow", any, {
    readonly steps: readonly {
        readonly error?: {
            readonly message: string;
            readonly code: string;
        } | undefined;
        readonly value?: unknown;
        readonly id: string;
        readonly status: "not-started" | "completed" | "failed" | "cancelled";
    }[];
}, Workflow.WorkflowError | Workflow.CompensationFailed | PlanError, Cancellation.Cancellation | ToolContext | Workflow.Workflow>;
export declare const make: (options?: Options) => Toolkit.Toolkit<Tool.Tool<"run_workflow", any, {
    readonly steps: readonly {
        readonly error?: {
            readonly message: string;
            readonly code: string;
        } | undefined;
        readonly value?: unknown;
        readonly id: string;
        readonly status: "not-started" | "completed" | "failed" | "cancelled";
    }[];
}, Workflow.WorkflowError | Workflow.CompensationFailed | PlanError, Cancellation.Cancellation | ToolContext | Workflow.Workflow>>;
export {};
