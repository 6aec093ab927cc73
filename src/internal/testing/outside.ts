/**
 * What the explorer notices of the world beyond it: promises that move, native handles, and other runs.
 */
import { createHook } from "node:async_hooks"
import { promiseHooks } from "node:v8"

// A hook for each run would cost as much as the run.
let promisesMoved: () => void = () => {}
let watching = 0
let checking = false
let unhook: (() => void) | undefined

/**
 * Calls `moved` whenever a promise is made or settles, until the returned function is called.
 *
 * @internal
 */
export const watchPromises = (moved: () => void): (() => void) => {
  const before = promisesMoved
  promisesMoved = moved
  watching++
  if (unhook === undefined) {
    unhook = promiseHooks.createHook({ init: () => promisesMoved(), settled: () => promisesMoved() }) as () => void
  }
  return () => {
    promisesMoved = before
    watching--
    if (checking) return
    // Kept for a while: thousands of runs follow each other.
    checking = true
    setImmediate(() => {
      checking = false
      if (watching > 0) return
      unhook?.()
      unhook = undefined
    })
  }
}

/**
 * Lets the event loop turn once. All reactions of promises run meanwhile.
 *
 * @internal
 */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * Native handles that are there now and were not before: something outside can still happen.
 *
 * @internal
 */
export const newHandles = (before: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = [...before]
  return process.getActiveResourcesInfo().filter((resource) => {
    const at = left.indexOf(resource)
    if (at !== -1) left.splice(at, 1)
    return at === -1 && resource !== "Immediate"
  })
}

let steps = 0

/**
 * Runs a task of a run. What starts an exploration meanwhile is part of a scenario, and would wait for itself.
 *
 * @internal
 */
export const inStep = (task: () => void): void => {
  steps++
  try {
    task()
  } finally {
    steps--
  }
}

/** @internal */
export const isInStep = (): boolean => steps > 0

// What a run makes all the time, and what keeps nothing waiting.
const passing = new Set(["PROMISE", "TickObject", "Microtask", "Immediate"])

/**
 * Notes the native handles that a task of a run makes, until the returned function says which of them are still there.
 *
 * It knows them by themselves, where `newHandles` only counts: one that is older and ends meanwhile hides a new one there.
 * It costs as much as the run, so it is for runs that are in doubt.
 *
 * @internal
 */
export const watchHandles = (): (() => ReadonlyArray<string>) => {
  const made = new Map<number, string>()
  const hook = createHook({
    init: (id, type) => {
      if (isInStep() && !passing.has(type)) made.set(id, type)
    },
    destroy: (id) => void made.delete(id)
  }).enable()
  return () => {
    hook.disable()
    return [...made.values()]
  }
}

// Runs share the default scheduler and the hook on promises: one at a time.
let lastRun: Promise<void> = Promise.resolve()

/**
 * Waits until no other run is under way. The next one begins when the returned function is called.
 *
 * @internal
 */
export const takeTurn = async (): Promise<() => void> => {
  const before = lastRun
  let release = (): void => {}
  lastRun = new Promise((resolve) => {
    release = resolve
  })
  await before
  return release
}
