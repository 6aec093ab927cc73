/**
 * Records the scopes that an effect makes, and says which of them are still open and hold something.
 *
 * A scope tells nobody that it was made. But all scopes of effect 3.22 have one prototype, and making one sets its
 * `strategy`: while somebody watches, a setter there sees each. Whose it is, the fiber that makes it says.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import { globalValue } from "effect/GlobalValue"
import * as Scope from "effect/Scope"

/** What a scope of effect 3.22 has beside its public interface. */
interface Insides {
  readonly state:
    | { readonly _tag: "Open"; readonly finalizers: ReadonlyMap<object, unknown> }
    | { readonly _tag: "Closed" }
}

interface Made {
  readonly scope: Insides
  readonly span: string | undefined
}

/** @internal */
export interface OpenScope {
  readonly finalizers: number
  /** The span in which it was made, if there was one. */
  readonly span: string | undefined
}

const watchers = globalValue("quiesce/internal/testing/openScopes/watchers", () =>
  FiberRef.unsafeMake<ReadonlyArray<OpenScopes>>([])
)

let watching = 0

const made = (scope: Insides): void => {
  const fiber = Fiber.getCurrentFiber()
  if (fiber._tag === "None") return
  const span = fiber.value.currentSpan
  for (const watcher of fiber.value.getFiberRef(watchers)) {
    watcher.made.push({ scope, span: span?._tag === "Span" ? span.name : undefined })
  }
}

const install = Effect.map(Scope.make(), (scope) => {
  watching++
  const prototype: object = Object.getPrototypeOf(scope)
  Object.defineProperty(prototype, "strategy", {
    configurable: true,
    set(this: Insides, value: unknown) {
      Object.defineProperty(this, "strategy", { value, configurable: true, enumerable: true, writable: true })
      made(this)
    }
  })
  return prototype
})

/** @internal */
export class OpenScopes {
  readonly made: Array<Made> = []

  /** Runs `self`, and records the scopes that it and the fibers that it forks make. */
  watch<A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      install,
      () => Effect.locallyWith(self, watchers, (others) => [...others, this]),
      (prototype) =>
        Effect.sync(() => {
          if (--watching === 0) Reflect.deleteProperty(prototype, "strategy")
        })
    )
  }

  /** One that holds nothing is of no consequence: it is left to the garbage collector. */
  get left(): ReadonlyArray<OpenScope> {
    return this.made.flatMap(({ scope: { state }, span }) =>
      state._tag === "Open" && state.finalizers.size > 0 ? [{ finalizers: state.finalizers.size, span }] : []
    )
  }
}
