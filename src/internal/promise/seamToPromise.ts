/**
 * Makes the seam of a service, as its descriptor says.
 */
import * as Effect from "effect/Effect"
import { isFunction } from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Cancellation } from "../../Cancellation.js"
import { Settlement } from "../settlement.js"
import { awaitQuietly, type Entry, eachHandle, entriesOf, exchanged, type Operations } from "./seamEntry.js"
import type { Host } from "./seamHost.js"
import { toIterable } from "./seamStream.js"

type AnEffect = Effect.Effect<unknown, unknown, Cancellation | Scope.Scope>
type AStream = Stream.Stream<unknown, unknown, Cancellation>

/** A service, or a handle that it gave, and what the operations of that have to do with the operation that gave it. */
class Subject {
  readonly host: Host
  private readonly value: object
  private readonly origin: { readonly signal: AbortSignal; readonly close: () => Promise<void> } | undefined
  private readonly endedBy: ReadonlyArray<string>

  constructor(host: Host, value: object, origin?: Subject["origin"], endedBy: ReadonlyArray<string> = []) {
    this.host = host
    this.value = value
    this.origin = origin
    this.endedBy = endedBy
  }

  member(name: string): unknown {
    return (this.value as Record<string, unknown>)[name]
  }

  call(name: string, args: ReadonlyArray<unknown>): unknown {
    const member = this.member(name)
    return isFunction(member) ? member.apply(this.value, args as Array<unknown>) : member
  }

  /** What stops an operation besides its own signal: that with which the handle was made. */
  signals(signal: AbortSignal): ReadonlyArray<AbortSignal> {
    return this.origin === undefined ? [signal] : [signal, this.origin.signal]
  }

  /** Waits until nothing is left of the handle, where this operation ends it. */
  async ended(name: string): Promise<void> {
    if (this.endedBy.includes(name)) await this.origin?.close()
  }
}

const needsSignal = (name: string): TypeError =>
  new TypeError(`${name} needs a signal: pass an AbortSignal as \`signal\` in its last argument`)

/** The arguments of an operation that can wait, as the service takes them: `signal` alone means that there are no options. */
const read = (name: string, args: ReadonlyArray<unknown>, entry: Entry) => {
  const last = args.at(-1)
  const { signal, ...options } = (last ?? {}) as Record<string, unknown>
  if (!(signal instanceof AbortSignal)) throw needsSignal(name)
  const taken = exchanged(options, entry, "toEffect")
  const before = args.slice(0, -1)
  return { signal, args: Object.keys(taken).length === 0 ? before : [...before, taken] }
}

/** What is given as long as a scope: the effect that gave it runs on until that is closed. */
const runScoped = (subject: Subject, effect: AnEffect, signal: AbortSignal, entry: Entry): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const unwanted = new Settlement<void>()
    const close = (): Promise<void> => {
      unwanted.settle()
      return ended.catch(() => {}) // whoever reads it has been told
    }
    const handle = (value: object): object => {
      const made = new Subject(subject.host, value, { signal, close }, entry.endedBy)
      return Object.assign(seamOn(made, entry.gives ?? {}), { close, [Symbol.asyncDispose]: close })
    }
    const program = Effect.flatMap(effect, (value) => {
      resolve(eachHandle(value, handle))
      return unwanted.wait()
    })
    const ended = subject.host.run(Effect.scoped(program), ...subject.signals(signal))
    ended.catch(reject)
  })

const run = async (subject: Subject, name: string, args: ReadonlyArray<unknown>, entry: Entry): Promise<unknown> => {
  if (entry.kind === "at-once") {
    const value = await subject.host.run(subject.call(name, args) as Effect.Effect<unknown, unknown>)
    return given(subject, value, entry)
  }
  const call = read(name, args, entry)
  const effect = Effect.suspend(() => subject.call(name, call.args) as AnEffect)
  if (entry.endedBy !== undefined) return runScoped(subject, effect, call.signal, entry)
  try {
    const owned = effect as Effect.Effect<unknown, unknown, Cancellation>
    return given(subject, await subject.host.run(owned, ...subject.signals(call.signal)), entry)
  } finally {
    await subject.ended(name)
  }
}

const given = ({ host }: Subject, value: unknown, { gives }: Entry): unknown =>
  gives === undefined ? value : eachHandle(value, (handle) => seamOn(new Subject(host, handle), gives))

const iterate = (
  subject: Subject,
  name: string,
  args: ReadonlyArray<unknown>,
  entry: Entry
): AsyncIterable<unknown> => {
  const call = read(name, args, entry)
  const stream = Stream.suspend(() => subject.call(name, call.args) as AStream)
  return toIterable(
    Stream.ensuring(
      stream,
      awaitQuietly("Closing a handle", () => subject.ended(name))
    ),
    (effect, ...signals) => subject.host.run(effect, ...signals),
    ...subject.signals(call.signal)
  )
}

const seamOn = (subject: Subject, operations: Operations): object => {
  const seam: Record<string, unknown> = {}
  for (const [name, entry] of entriesOf(operations)) {
    if (entry.kind === "sync") seam[name] = subject.member(name)
    else if (entry.kind === "stream")
      seam[name] = (...args: ReadonlyArray<unknown>) => iterate(subject, name, args, entry)
    else seam[name] = (...args: ReadonlyArray<unknown>) => run(subject, name, args, entry)
  }
  return seam
}

/**
 * The seam of a service.
 *
 * @internal
 */
export const seamOf = (host: Host, operations: Operations, service: unknown): object =>
  seamOn(new Subject(host, service as object), operations)
