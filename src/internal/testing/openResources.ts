/**
 * Records the timers and handles that are made while it watches, and says which of them still keep the process alive.
 *
 * `process.getActiveResourcesInfo()` only has counts. Comparing two counts calls a leak nothing when something else has
 * ended in between, such as a report of the test runner that was due. Hence each resource is kept by itself.
 */
import * as asyncHooks from "node:async_hooks"

/** @internal */
export interface OpenResource {
  /** As `async_hooks` calls it: `Timeout`, `TCPSERVERWRAP`, `PROCESSWRAP`, ... */
  readonly type: string
  /** Where it was made: a line of a stack, as good as there is. */
  readonly at: string | undefined
}

interface Refable {
  readonly hasRef: () => boolean
  /** Of a timer that has fired or was cleared. Its `hasRef` does not say so. */
  readonly _destroyed?: boolean
}

interface Made {
  readonly type: string
  readonly resource: object
  /** Formatted only if it is needed. */
  readonly trace: Error
}

// What ends in the next turn by itself.
const passing = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"])

const isOpen = ({ resource }: Made): boolean => {
  const { _destroyed, hasRef } = resource as Partial<Refable>
  return hasRef !== undefined && _destroyed !== true && hasRef.call(resource)
}

const placeOf = ({ trace }: Made): string | undefined => {
  const lines = (trace.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !/\(?node:/.test(line))
  const [, ...made] = lines // the first one is the hook
  return (made.find((line) => !line.includes("/node_modules/")) ?? made[0])?.trim().replace(/^at /, "")
}

/** @internal */
export class OpenResources {
  private readonly made: Array<Made> = []
  private readonly hook = asyncHooks.createHook({
    init: (_id, type, _trigger, resource) => {
      if (!passing.has(type)) this.made.push({ type, resource, trace: new Error("made here") })
    }
  })

  watch(): void {
    this.hook.enable()
  }

  unwatch(): void {
    this.hook.disable()
  }

  get left(): ReadonlyArray<OpenResource> {
    return this.made.filter(isOpen).map((made) => ({ type: made.type, at: placeOf(made) }))
  }
}
