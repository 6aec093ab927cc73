/**
 * Where the operations of a seam run: each as an owner of its own, that its signal cancels.
 *
 * Invariants
 *
 * H1. Closing aborts what runs, with one reason, and closes the layer when each promise has settled (L3).
 * H2. Nothing starts after closing. Again and again it is the same as once.
 * H3. A layer is built without an owner, so that what belongs to it does not end with its building.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Abort from "../../Abort.js"
import * as CancelCause from "../../CancelCause.js"
import type { Cancellation } from "../../Cancellation.js"
import { SignalChild } from "./signalChild.js"

/** @internal */
export class Host {
  private readonly toPromise: <A, E>(
    effect: Effect.Effect<A, E, Cancellation>,
    options: { readonly signal: AbortSignal }
  ) => Promise<A>
  private readonly closing = new SignalChild([])
  private readonly running = new Set<Promise<unknown>>()

  constructor(runtime: Runtime.Runtime<never>) {
    this.toPromise = Abort.toPromiseWith(runtime)
  }

  /** Runs an effect. Without a signal nothing but closing stops it. */
  run<A, E>(effect: Effect.Effect<A, E, Cancellation>, ...signals: ReadonlyArray<AbortSignal>): Promise<A> {
    const child = new SignalChild([...signals, this.closing.signal]) // H1, H2
    const promise = this.toPromise(effect, child)
    this.running.add(promise)
    const ended = () => {
      child.dispose() // L10
      this.running.delete(promise)
    }
    promise.then(ended, ended)
    return promise
  }

  /** Stops what runs, and settles when it has. */
  async stop(): Promise<void> {
    this.closing.abort(CancelCause.toReason(CancelCause.disposed()))
    await Promise.allSettled(this.running)
  }
}

/**
 * A host over a layer that is built, and the service in it that was asked for.
 *
 * @internal
 */
export interface OpenHost<S> {
  readonly host: Host
  readonly service: S
  readonly close: () => Promise<void>
}

/** @internal */
export const openHost = async <I, S, E>(
  tag: Context.Tag<I, S>,
  layer: Layer.Layer<I, E>,
  signal: AbortSignal | undefined
): Promise<OpenHost<S>> => {
  const scope = Effect.runSync(Scope.make())
  const build = Layer.toRuntime(layer).pipe(
    Scope.extend(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
    Effect.mapInputContext((_: Context.Context<never>) => Context.empty()) // H3
  )
  const runtime = await Abort.toPromise(build, { signal })
  const host = new Host(runtime as Runtime.Runtime<never>)
  let closed: Promise<void> | undefined
  const close = async () => {
    await host.stop()
    const release = Effect.mapInputContext(Scope.close(scope, Exit.void), (_: Context.Context<never>) =>
      Context.empty()
    ) // H3
    await Abort.toPromiseWith(Runtime.defaultRuntime)(release)
  }
  return {
    host,
    service: Context.get(runtime.context, tag),
    close: () => {
      closed ??= close() // H2
      return closed
    }
  }
}
