/** Makes tests of scenarios, for one of the two drivers. */
import { describe, it } from "@effect/vitest"
import { Effect, type Runtime } from "effect"
import type { Driver } from "./driver.js"
import { ending } from "./ending.js"
import { intake } from "./intake.js"
import { running } from "./running.js"

/** All scenarios of a caller with a signal. */
export const scenarios = (kind: Driver["kind"], driver: (runtime: Runtime.Runtime<never>) => Driver): void => {
  const named = { "A to C, intake and gate": intake, "D, E and I, running": running, "F and G, ending": ending }
  for (const [name, list] of Object.entries(named)) {
    describe(name, () => {
      for (const { only, run, title } of list) {
        if (only !== undefined && only !== kind) continue
        it.effect(title, () =>
          Effect.flatMap(Effect.runtime(), (runtime) => Effect.promise(() => run(driver(runtime))))
        )
      }
    })
  }
}
