/**
 * What a person has to correct before anything can run.
 */
import * as Data from "effect/Data"

/** The command line, the plan or the workspace cannot be used. Each message names the place and what was expected. */
export class BadInput extends Data.TaggedError("BadInput")<{
  readonly messages: readonly [string, ...ReadonlyArray<string>]
  /** Whether the usage helps, because the command line itself was wrong. */
  readonly showUsage?: boolean
}> {
  override get message(): string {
    return this.messages.join("\n")
  }
}
