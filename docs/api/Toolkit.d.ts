import { type Pipeable } from "effect/Pipeable";
import type * as Tool from "./Tool.js";
declare const TypeId = "~quiesce/Toolkit";
export interface Toolkit<out T extends Tool.Any> extends Pipeable {
    readonly [TypeId]: typeof TypeId;
    readonly tools: ReadonlyMap<string, T>;
}
export interface Any extends Toolkit<Tool.Any> {
}
export type Tools<T extends Any> = T extends Toolkit<infer A> ? A : never;
export type Requirements<T extends Any> = Tool.Requirements<Tools<T>>;
export declare const isToolkit: (u: unknown) => u is Any;
export declare const make: <const T extends ReadonlyArray<Tool.Any>>(...tools: T) => Toolkit<T[number]>;
export declare const merge: <const T extends ReadonlyArray<Any>>(...toolkits: T) => Toolkit<Tools<T[number]>>;
export {};
