/**
 * What a scenario of a caller with a signal is written against: stages that are functions, promises and a signal. Two
 * drivers run it, one through Effect, one through `quiesce/promise`, and both must come to the same.
 */
import { getEventListeners } from "node:events"
import { assert } from "@effect/vitest"
import type { Content, ToolResult } from "quiesce"
import type { Answer, CodedError, Decision, Question, Review, ToolFailure, ToolSuccess } from "quiesce/promise"

/** How a call ended, in the shape of the facade. */
export type Outcome = ToolSuccess | ToolFailure

/** What a stage sees of its call. */
export interface Seen {
  readonly callId: string
  readonly name: string
  readonly arguments: unknown
  readonly agent: string | undefined
  signal: AbortSignal
}

/** What a body sees of its call. */
export interface Body {
  readonly signal: AbortSignal
  readonly attempt: number
  readonly deferContext: (text: string) => void
  readonly concludeTurn: () => void
  readonly call: (name: string, parameters: unknown) => Promise<Outcome>
}

type Awaitable<A> = A | Promise<A>

/** What a scenario fills in. Whatever it leaves out lets the call pass, and is counted all the same. */
export interface Stages {
  readonly before?: (call: Readonly<Seen>) => Awaitable<Decision>
  readonly guard?: (call: Readonly<Seen>) => string | undefined
  readonly around?: (call: Seen, next: () => Promise<Outcome>) => Awaitable<Answer>
  readonly body?: (text: string, context: Body) => Awaitable<unknown>
  readonly after?: (call: Readonly<Seen>, result: Outcome) => Awaitable<Review>
  readonly observe?: (call: Readonly<Seen>, result: Outcome) => Awaitable<void>
  readonly approve?: (question: Pick<Question, "callId" | "tool" | "reason" | "agent" | "signal">) => Awaitable<any>
  readonly timeout?: number
  readonly render?: (value: string) => string | ReadonlyArray<Content.Content>
  readonly meta?: (value: string) => ToolResult.Json
  readonly finalContent?: (result: Outcome) => ReadonlyArray<Content.Content> | undefined
  /** Stages inside of those above. */
  readonly inner?: Pick<Stages, "before" | "around" | "guard">
  /** Another tool, `count`, which takes nothing and returns 3. */
  readonly counts?: boolean
}

export interface Input {
  readonly callId: string
  readonly name: string
  readonly arguments: unknown
  readonly signal: AbortSignal
  readonly agent?: string
}

/** A runtime with one tool, `echo`, and one policy of each kind. */
export interface World {
  /** Each stage that was entered, in order. */
  readonly log: Array<string>
  readonly observed: ReadonlyArray<Outcome>
  /** That of the caller, unless a call brings another. */
  readonly controller: AbortController
  /** Checked: one observed result, the same object, frozen; nothing runs, and no listener is left. */
  readonly call: (changes?: Partial<Input>) => Promise<Outcome>
  /** Resolves when a stage has been entered. */
  readonly reached: (stage: string) => Promise<void>
  /** Takes the tool away. */
  readonly removeTool: () => void
  readonly cancelCall: (callId: string, reason?: unknown) => boolean
  readonly dispose: () => Promise<void>
}

export interface Driver {
  readonly kind: "effect" | "facade"
  readonly setup: (stages?: Stages) => World
  /** Lets the time of the runtime pass. */
  readonly advance: (millis: number) => Promise<void>
  /** A failure with a name and a code of its own. */
  readonly coded: (message: string, code: string) => Error | CodedError
}

/** One scenario. What only one of the two can do says so. */
export interface Scenario {
  readonly title: string
  readonly only?: Driver["kind"]
  readonly run: (driver: Driver) => Promise<void>
}

/** A promise that the test settles. */
export const gate = <A = void>() => {
  let open: (value: A | PromiseLike<A>) => void = () => {}
  const promise = new Promise<A>((resolve) => {
    open = resolve
  })
  return { promise, open: (value: A) => open(value), fail: (error: unknown) => open(Promise.reject(error)) }
}

/** Resolves when the signal aborts. */
export const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })

/** Lets everything run that can run without the clock. */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

export const isPending = async (promise: Promise<unknown>): Promise<boolean> => {
  let isSettled = false
  const settled = () => {
    isSettled = true
  }
  promise.then(settled, settled)
  await settle()
  return !isSettled
}

const isDeepFrozen = (u: unknown): boolean =>
  typeof u !== "object" || u === null || (Object.isFrozen(u) && Object.values(u).every(isDeepFrozen))

/** What both drivers count and check in the same way. */
export class Observer {
  readonly log: Array<string> = []
  readonly observed: Array<Outcome> = []
  readonly controller = new AbortController()
  /** How many bodies of each call run. */
  private readonly running = new Map<string, number>()
  private runningAtPublication = 0

  enter(stage: string): void {
    this.log.push(stage)
  }

  published(result: Outcome): void {
    this.observed.push(result)
    this.runningAtPublication += this.running.get(result.report.callId) ?? 0
  }

  async during<A>(callId: string, body: () => Awaitable<A>): Promise<A> {
    const count = (by: 1 | -1) => this.running.set(callId, (this.running.get(callId) ?? 0) + by)
    count(1)
    try {
      return await body()
    } finally {
      count(-1)
    }
  }

  async checked(input: Input, call: () => Promise<Outcome>): Promise<Outcome> {
    const before = getEventListeners(input.signal, "abort").length
    const result = await call()
    assert.strictEqual(this.observed.filter((other) => other === result).length, 1, "not observed exactly once")
    assert.isTrue(isDeepFrozen(result), `not frozen all the way down: ${JSON.stringify(result)}`)
    assert.strictEqual(this.runningAtPublication, 0, "a body was running when its result was published")
    const after = getEventListeners(input.signal, "abort").length
    assert.isAtMost(after, input.signal.aborted ? 0 : before, "a listener is left on the signal of the caller")
    return result
  }

  async reached(stage: string): Promise<void> {
    for (let i = 0; i < 1000 && !this.log.includes(stage); i++) await new Promise((resolve) => setImmediate(resolve))
    assert.include(this.log, stage, "it was never reached")
  }

  inputOf(changes: Partial<Input> | undefined): Input {
    // As it is, where it is whole: it may be made of getters.
    if (changes !== undefined && "arguments" in changes && "signal" in changes && "name" in changes)
      return changes as Input
    return { callId: "c1", name: "echo", arguments: { text: "hi" }, signal: this.controller.signal, ...changes }
  }
}

export const texts = (...lines: ReadonlyArray<string>): ReadonlyArray<Content.Content> =>
  lines.map((text) => ({ type: "text", text }))

type ReportOf<R extends Outcome> = Partial<R["report"]>

/** The success of `echo`. */
export const succeeded = (
  changes: Partial<Omit<ToolSuccess, "report">> = {},
  report: ReportOf<ToolSuccess> = {}
): ToolSuccess => ({
  isError: false,
  value: "hi",
  content: texts("hi"),
  ...changes,
  report: { callId: "c1", tool: "echo", dispatched: true, body: "completed", escaped: [], ...report }
})

/** A failure, by default of a call whose body was not called. */
export const failed = (
  error: ToolFailure["error"],
  code: string,
  report: ReportOf<ToolFailure> = {},
  changes: Partial<Omit<ToolFailure, "report">> = {}
): ToolFailure => ({
  isError: true,
  error,
  content: texts(`Error: ${error.message}`),
  ...changes,
  report: { callId: "c1", tool: "echo", dispatched: false, body: "not-started", escaped: [], code, ...report }
})

/** A failure that is named. */
export const named = (
  name: string,
  code: string,
  message: string,
  report?: ReportOf<ToolFailure>,
  changes?: Partial<Omit<ToolFailure, "report">>
): ToolFailure => failed({ message, info: { name, code } }, code, report, changes)

/** The reason with which scenarios abort. */
export const reason = new Error("stop")
const cause = { _tag: "HostSignal", reason: "stop" } as const

/** `ABD` of the cases. */
export const notDispatched = (
  report?: ReportOf<ToolFailure>,
  changes?: Partial<Omit<ToolFailure, "report">>
): ToolFailure =>
  named("AbortError", "ABORTED_BEFORE_DISPATCH", "tool call aborted before dispatch", { cause, ...report }, changes)

/** `ABT` of the cases. */
export const aborted = (report?: ReportOf<ToolFailure>, changes?: Partial<Omit<ToolFailure, "report">>): ToolFailure =>
  named(
    "AbortError",
    "ABORTED",
    "tool call aborted",
    { cause, dispatched: true, body: "interrupted", ...report },
    changes
  )

/** `TMO(ms)` of the cases. */
export const timedOut = (
  millis: number,
  report?: ReportOf<ToolFailure>,
  changes?: Partial<Omit<ToolFailure, "report">>
): ToolFailure =>
  named(
    "ToolTimeoutError",
    "TOOL_TIMEOUT",
    `tool call timed out after ${millis}ms`,
    {
      cause: { _tag: "Deadline", code: "TOOL_TIMEOUT", millis },
      dispatched: true,
      body: "interrupted",
      ...report
    },
    changes
  )

export const denied = (message: string): ToolFailure => failed({ message }, "DENIED")
export const policyFailed = (message: string, report?: ReportOf<ToolFailure>): ToolFailure =>
  failed({ message }, "POLICY_FAILURE", report)
export const toolFailed = (
  message: string,
  report?: ReportOf<ToolFailure>,
  changes?: Partial<Omit<ToolFailure, "report">>
): ToolFailure => failed({ message }, "TOOL_FAILURE", { dispatched: true, body: "failed", ...report }, changes)
