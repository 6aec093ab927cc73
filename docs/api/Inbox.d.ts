import * as Schema from "effect/Schema";
import * as AgentEvent from "./AgentEvent.js";
export declare const Message: Schema.Struct<{
    id: typeof Schema.String;
    content: Schema.Array$<Schema.Union<[Schema.Struct<{
        type: Schema.Literal<["text"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["reasoning"]>;
        text: typeof Schema.String;
    }>, Schema.Struct<{
        type: Schema.Literal<["image"]>;
        data: typeof Schema.String;
        mediaType: typeof Schema.String;
    }>]>>;
    source: Schema.optional<typeof Schema.String>;
}>;
export type Message = AgentEvent.InputMessage;
export declare const Target: Schema.Literal<["step", "turn"]>;
export type Target = typeof Target.Type;
export declare const Item: Schema.Struct<{
    message: Schema.Struct<{
        id: typeof Schema.String;
        content: Schema.Array$<Schema.Union<[Schema.Struct<{
            type: Schema.Literal<["text"]>;
            text: typeof Schema.String;
        }>, Schema.Struct<{
            type: Schema.Literal<["reasoning"]>;
            text: typeof Schema.String;
        }>, Schema.Struct<{
            type: Schema.Literal<["image"]>;
            data: typeof Schema.String;
            mediaType: typeof Schema.String;
        }>]>>;
        source: Schema.optional<typeof Schema.String>;
    }>;
    target: Schema.Literal<["step", "turn"]>;
    wakes: typeof Schema.Boolean;
}>;
export type Item = typeof Item.Type;
export interface Inbox {
    readonly step: ReadonlyArray<Item>;
    readonly turn: ReadonlyArray<Item>;
}
export declare const empty: Inbox;
export declare const add: (inbox: Inbox, item: Item) => Inbox;
export declare const putBack: (inbox: Inbox, items: ReadonlyArray<Item>) => Inbox;
export declare const remove: (inbox: Inbox, id: string) => readonly [removed: Item | undefined, rest: Inbox];
export declare const claim: (inbox: Inbox, { isFirstStep }: {
    readonly isFirstStep: boolean;
}) => readonly [claimed: ReadonlyArray<Item>, rest: Inbox];
export declare const items: (inbox: Inbox) => ReadonlyArray<Item>;
export declare const size: (inbox: Inbox) => number;
