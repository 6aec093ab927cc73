import * as Schema from "effect/Schema";
export declare const Code: Schema.Literal<["ABORTED", "ABORTED_BEFORE_DISPATCH", "TOOL_TIMEOUT", "DENIED", "TOOL_FAILURE", "POLICY_FAILURE", "BLOCKED", "INTERRUPTED", "UNKNOWN_TOOL", "INVALID_ARGS", "INVALID_TOOL_OUTPUT", "NOT_JSON", "OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"]>;
export type Code = typeof Code.Type;
export declare const names: {
    readonly [C in Code]: string;
};
declare const ToolFailure_base: Schema.TaggedErrorClass<ToolFailure, "ToolFailure", {
    readonly _tag: Schema.tag<"ToolFailure">;
} & {
    code: Schema.optionalWith<typeof Schema.String, {
        default: () => string;
    }>;
    message: typeof Schema.String;
}>;
export declare class ToolFailure extends ToolFailure_base {
}
declare const DuplicateTool_base: Schema.TaggedErrorClass<DuplicateTool, "DuplicateTool", {
    readonly _tag: Schema.tag<"DuplicateTool">;
} & {
    tool: typeof Schema.String;
}>;
export declare class DuplicateTool extends DuplicateTool_base {
    get message(): string;
}
export declare const ToolError: Schema.Union<[typeof ToolFailure, typeof DuplicateTool]>;
export type ToolError = typeof ToolError.Type;
export declare const isToolError: (u: unknown) => u is ToolError;
export {};
