import * as Schema from "effect/Schema";
export declare const ToolCall: Schema.Struct<{
    id: typeof Schema.String;
    name: typeof Schema.String;
    parameters: typeof Schema.Unknown;
    rootId: Schema.optional<typeof Schema.String>;
    agent: Schema.optional<typeof Schema.String>;
}>;
export interface ToolCall {
    readonly id: string;
    readonly name: string;
    readonly parameters: unknown;
    readonly rootId?: string | undefined;
    readonly agent?: string | undefined;
}
export declare const make: (call: ToolCall) => ToolCall;
