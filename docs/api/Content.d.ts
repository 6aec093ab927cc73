import * as Schema from "effect/Schema";
export declare const Text: Schema.Struct<{
    type: Schema.Literal<["text"]>;
    text: typeof Schema.String;
}>;
export declare const Reasoning: Schema.Struct<{
    type: Schema.Literal<["reasoning"]>;
    text: typeof Schema.String;
}>;
export declare const Image: Schema.Struct<{
    type: Schema.Literal<["image"]>;
    data: typeof Schema.String;
    mediaType: typeof Schema.String;
}>;
export declare const Content: Schema.Union<[Schema.Struct<{
    type: Schema.Literal<["text"]>;
    text: typeof Schema.String;
}>, Schema.Struct<{
    type: Schema.Literal<["reasoning"]>;
    text: typeof Schema.String;
}>, Schema.Struct<{
    type: Schema.Literal<["image"]>;
    data: typeof Schema.String;
    mediaType: typeof Schema.String;
}>]>;
export type Content = typeof Content.Type;
export declare const text: (text: string) => Content;
export declare const toText: (content: ReadonlyArray<Content>) => string;
