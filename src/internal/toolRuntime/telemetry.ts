/**
 * Spans and metrics of calls, through Effect's own tracer and metrics.
 *
 * A span is made only where somebody would see it: a tracer other than the built-in one is installed, or the call runs
 * inside a span.
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Tracer from "effect/Tracer"
import type * as ToolResult from "../../ToolResult.js"
import { tracerOf } from "../contained.js"
import type { Origin } from "../startFiber.js"

const nativeTracer = Context.get(DefaultServices.liveServices, Tracer.Tracer)

const isTraced = (origin: Origin): boolean => origin.parentSpan !== undefined || tracerOf(origin) !== nativeTracer

/**
 * The body of a call, inside a span if somebody would see it.
 *
 * @internal
 */
export const traced = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  state: { readonly id: string; readonly name: string; readonly attempts: number },
  origin: Origin
): Effect.Effect<A, E, R> =>
  isTraced(origin)
    ? (Effect.withSpan(body, `tool ${state.name}`, {
        attributes: { "tool.name": state.name, "tool.call.id": state.id, "tool.call.attempt": state.attempts }
      }) as Effect.Effect<A, E, R>)
    : body

const inFlight = Metric.gauge("quiesce_calls_in_flight", { description: "Calls accepted and not yet published" })

const timeToQuiet = Metric.histogram(
  "quiesce_time_to_quiet_ms",
  MetricBoundaries.exponential({ start: 1, factor: 4, count: 10 }),
  "Milliseconds from the cancel of a call to its publication"
)

const calls = Metric.counter("quiesce_calls", { description: "Published calls by code", incremental: true })

// Tagging a metric builds a new one, so each code has one made for it.
const callsByCode = new Map<string, Metric.Metric.Counter<number>>()

const countOf = (code: string): Metric.Metric.Counter<number> => {
  let counter = callsByCode.get(code)
  if (counter === undefined) {
    counter = Metric.tagged(calls, "code", code)
    callsByCode.set(code, counter)
  }
  return counter
}

const none: ReadonlyArray<never> = []

let current = 0

/** @internal */
export const accepted = (): void => {
  inFlight.unsafeUpdate(++current, none)
}

/** @internal */
export const published = (result: ToolResult.ToolResult, quietMillis: number | undefined): void => {
  inFlight.unsafeUpdate(--current, none)
  countOf(result._tag === "Success" ? "OK" : result.code).unsafeUpdate(1, none)
  if (quietMillis !== undefined) timeToQuiet.unsafeUpdate(quietMillis, none)
}
