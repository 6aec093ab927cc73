import { type Vitest } from "@effect/vitest";
import * as Effect from "effect/Effect";
import type * as Scope from "effect/Scope";
import type * as TestServices from "effect/TestServices";
import type { TestOptions } from "vitest";
import * as Cancellation from "../Cancellation.js";
import * as Explore from "./Explore.js";
import type * as Invariant from "./Invariant.js";
import type { Sim } from "./Sim.js";
export type Scenario<A, E> = Effect.Effect<A, E, Sim | Scope.Scope> | (() => Effect.Effect<A, E, Sim | Scope.Scope>);
export type ExploreOptions = Omit<Explore.Options<never, never>, "invariants">;
export interface ExploreTest {
    <A, E>(name: string, scenario: Scenario<A, E>, options?: ExploreOptions, timeout?: number | TestOptions): void;
    <A, E>(name: string, scenario: Scenario<A, E>, invariants: ReadonlyArray<Invariant.Invariant<A, E>>, options?: ExploreOptions, timeout?: number | TestOptions): void;
}
export interface ExploreTester extends ExploreTest {
    readonly only: ExploreTest;
    readonly skip: ExploreTest;
    readonly skipIf: (condition: unknown) => ExploreTest;
    readonly runIf: (condition: unknown) => ExploreTest;
    readonly fails: ExploreTest;
}
export interface OwnedTester extends Vitest.Tester<Cancellation.Cancellation | TestServices.TestServices> {
    readonly scoped: Vitest.Tester<Cancellation.Cancellation | Scope.Scope | TestServices.TestServices>;
    readonly live: Vitest.Tester<Cancellation.Cancellation>;
    readonly scopedLive: Vitest.Tester<Cancellation.Cancellation | Scope.Scope>;
}
export interface Methods extends Vitest.Methods {
    readonly explore: ExploreTester;
    readonly owned: OwnedTester;
}
export declare const it: Methods;
