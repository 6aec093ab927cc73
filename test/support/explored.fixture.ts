import { assert } from "@effect/vitest"
import { Effect, Fiber, Ref } from "effect"
import { it } from "quiesce/testing/Vitest"

it.explore("counts both", () =>
  Effect.gen(function* () {
    const ref = yield* Ref.make(0)
    const increment = Effect.flatMap(Ref.get(ref), (n) => Ref.set(ref, n + 1))
    yield* Fiber.joinAll(yield* Effect.all([Effect.fork(increment), Effect.fork(increment)]))
    assert.strictEqual(yield* Ref.get(ref), 2, "an update was lost")
  })
)

it.explore.skip("is skipped", Effect.die("was run"))
it.explore.skipIf(true)("is skipped on a condition", Effect.die("was run"))
it.explore.runIf(false)("is not run on a condition", Effect.die("was run"))
it.owned.skip("is skipped", () => Effect.die("was run"))
it.owned.skipIf(true)("is skipped on a condition", () => Effect.die("was run"))
it.owned.runIf(false)("is not run on a condition", () => Effect.die("was run"))
