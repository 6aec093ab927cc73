/**
 * Opens a log: reads what is stored, and puts it in order before anybody sees it.
 *
 * Nothing is written before everything has been read and is known to be a session.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as AgentEvent from "../../AgentEvent.js"
import { report } from "../report.js"
import { type Origin, originOf } from "../startFiber.js"
import { nowOf } from "../timer.js"
import { isProblem, type Read, readLog } from "./readLog.js"
import { repairsOf } from "./repairs.js"
import { type LogOptions, SessionLog } from "./sessionLog.js"

/** @internal */
export interface Opened {
  readonly log: SessionLog
  readonly close: () => void
}

interface OpenOptions<E extends Error> extends Omit<LogOptions, "now"> {
  readonly agent: string
  readonly refuse: (...args: Parameters<LogOptions["refuse"]>) => E
  readonly rethrow: (...args: Parameters<LogOptions["rethrow"]>) => E
}

const newline = Uint8Array.of(0x0a)
const nothing: Read = { envelopes: [], length: 0, torn: undefined, lacksNewline: false }

/** Takes away what is torn, and says so. Throws what the storage throws. */
const trim = ({ storage }: LogOptions, { lacksNewline, length, torn }: Read): ReadonlyArray<string> => {
  if (lacksNewline) storage?.append(newline)
  if (torn === undefined) return []
  storage?.cut(length)
  return [`line ${torn.line} had not been written to its end, and was cut off (${torn.bytes} bytes)`]
}

const putInOrder = (options: LogOptions & { readonly agent: string }, read: Read) => {
  const found = trim(options, read)
  const log = new SessionLog(options, read.envelopes, read.length + (read.lacksNewline ? 1 : 0))
  const isNew = read.envelopes.length === 0
  log.append(
    isNew ? { _tag: "SessionStarted", version: AgentEvent.version, agent: options.agent } : { _tag: "SessionReopened" }
  )
  const repairs = repairsOf(read.envelopes, found)
  for (const event of repairs) log.append(event)
  if (repairs.length > 0 && options.sync !== "never") log.sync()
  return { log, repairs }
}

/** @internal */
export const openLog = <E extends Error>(options: OpenOptions<E>): Effect.Effect<Opened, E, Scope.Scope> => {
  const { refuse, rethrow, storage } = options
  const open = Effect.gen(function* () {
    const origin = yield* Effect.withFiberRuntime<Origin>((fiber, status) => Effect.succeed(originOf(fiber, status)))
    const read = storage === undefined ? nothing : readLog(storage.contents)
    if (isProblem(read)) return yield* Effect.fail(refuse("open", read))
    const { log, repairs } = yield* Effect.try({
      try: () => putInOrder({ ...options, now: () => nowOf(origin) }, read),
      catch: (error) => rethrow("open", error)
    })
    const what = repairs.flatMap((event) => (event._tag === "Repaired" ? event.what : []))
    if (what.length > 0) yield* Effect.logWarning(`Session "${storage?.name}" was put in order: ${what.join("; ")}`)
    const close = (): void => {
      const failure = log.close()
      if (failure !== undefined) report("The end of a session may not be stored", Cause.fail(failure), origin)
    }
    return { log, close }
  })
  return Effect.acquireRelease(open, ({ close }) => Effect.sync(close))
}
