/**
 * The steps of a run and their compensations: how they end, and how that is told.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { describeThrown } from "../../thrown.js"

/** @internal */
export type Outcome = "completed" | "cancelled" | "error"

/**
 * How a step, or the compensation of one, ended.
 *
 * @internal
 */
export interface StepEnd {
  readonly name: string
  readonly exit: Exit.Exit<unknown, unknown>
}

/**
 * What is told of a run while it goes on.
 *
 * @internal
 */
export type Told =
  | { readonly _tag: "WorkflowStarted" }
  | { readonly _tag: "StepStarted" | "CompensationStarted"; readonly step: number; readonly name: string }
  | {
      readonly _tag: "StepEnded" | "CompensationEnded"
      readonly step: number
      readonly name: string
      readonly outcome: Outcome
      readonly error?: string
    }
  | { readonly _tag: "WorkflowEnded"; readonly outcome: Outcome; readonly error?: string }

/**
 * One step, or its compensation, that has started.
 *
 * @internal
 */
export class Started {
  readonly step: number
  readonly name: string
  exit: Exit.Exit<unknown, unknown> | undefined

  constructor(step: number, name: string) {
    this.step = step
    this.name = name
  }

  get outcome(): Outcome | undefined {
    return this.exit === undefined ? undefined : outcomeOf(this.exit)
  }

  get error(): string | undefined {
    return this.exit === undefined || outcomeOf(this.exit) !== "error" ? undefined : errorOf(this.exit)
  }
}

/** @internal */
export const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome =>
  Exit.isSuccess(exit) ? "completed" : Cause.isInterruptedOnly(exit.cause) ? "cancelled" : "error"

const errorOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "" : describeThrown(Cause.squash(exit.cause)).message

/**
 * A part of a snapshot: a step, or the compensation of one.
 *
 * @internal
 */
export const partOf = ({ error, name, outcome }: Started) => ({
  name,
  status: outcome ?? ("running" as const),
  ...(error === undefined ? {} : { error })
})

/**
 * What is told of an end beside its outcome.
 *
 * @internal
 */
export const toldOf = (exit: Exit.Exit<unknown, unknown> | undefined): { readonly error?: string } =>
  exit === undefined || outcomeOf(exit) !== "error" ? {} : { error: errorOf(exit) }
