/**
 * Controllers whose listeners cannot take the process down.
 *
 * An `EventTarget` turns what a listener throws into an `uncaughtException`: one careless body would end the host when
 * somebody presses stop. On the signals that we make, what a listener throws is logged, and the others are told (W20).
 */
import * as Cause from "effect/Cause"
import { isFunction, isObject } from "effect/Predicate"
import { report } from "../report.js"

type Listener = EventListenerOrEventListenerObject

const contain =
  (listener: Listener): EventListener =>
  (event) => {
    try {
      if (isFunction(listener)) listener.call(event.currentTarget, event)
      else listener.handleEvent(event)
    } catch (error) {
      report("A listener of an aborted signal threw", Cause.die(error))
    }
  }

// Listeners of Node's own carry options under symbols, may be held weakly, and do not throw: they stay as they are.
const isOfNode = (options: unknown): boolean =>
  isObject(options) && !isFunction(options) && Object.getOwnPropertySymbols(options).length > 0

/**
 * A controller as the platform makes it, with a signal that contains its listeners.
 *
 * @internal
 */
export const makeContainedController = (): AbortController => {
  const controller = new AbortController()
  const { signal } = controller
  const contained = new WeakMap<object, EventListener>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type: string, listener: Listener | null, options?: boolean | AddEventListenerOptions) => {
    if (listener === null || isOfNode(options)) return add(type, listener as Listener, options)
    let wrapper = contained.get(listener)
    if (wrapper === undefined) {
      wrapper = contain(listener)
      contained.set(listener, wrapper)
    }
    add(type, wrapper, options)
  }
  signal.removeEventListener = (type: string, listener: Listener | null, options?: boolean | EventListenerOptions) => {
    remove(type, (listener === null ? undefined : contained.get(listener)) ?? (listener as Listener), options)
    if (listener !== null) remove(type, listener, options)
  }
  return controller
}
