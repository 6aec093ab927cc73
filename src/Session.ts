/**
 * The log of everything that happens to an agent, and what can be derived from it.
 *
 * A session is append-only. `append` is a plain function and not an effect, on purpose: whoever changes a state records the
 * change in the same step, and no other fiber comes in between. What a model is shown (`messages`) and where the agent
 * stands (`position`) are derived from the events alone, each of which is looked at once, and stored nowhere beside them.
 *
 * A stored session that is opened again is put in order first: a last line that was torn is cut off, calls without a
 * result get one that says what is known of them (L13), and what was open is closed, so that the next request to a model
 * is valid wherever the program had ended (L8).
 *
 * All events are kept in memory as long as the session is open.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as AgentEvent from "./AgentEvent.js"
import type * as Model from "./capability/Model.js"
import { Derived } from "./internal/session/derived.js"
import { Messages, messagesOf } from "./internal/session/messages.js"
import { type Opened, openLog } from "./internal/session/openLog.js"
import { type Position as AnyPosition, type QueuedInput as AnyQueuedInput, Place } from "./internal/session/position.js"
import type { Storage as AnyStorage, Problem } from "./internal/session/storage.js"

/**
 * Schema for why an operation on a session failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "NotFound",
  "NotAFile",
  "PermissionDenied",
  "NoSpace",
  "Locked",
  "NotASession",
  "OtherVersion",
  "BrokenLine",
  "InvalidEvent",
  "Closed",
  "NotDurable",
  "Unknown"
)

/**
 * Why an operation on a session failed.
 *
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

// For each reason what happened, and what to do about it.
const texts: { readonly [R in Reason]: readonly [what: string, advice: string] } = {
  NotFound: ["the folder that it should be in does not exist", "Make the folder, or check the path"],
  NotAFile: ["it is no regular file", "Name a file, or a path where there is nothing yet"],
  PermissionDenied: ["it is not permitted", "Choose another path, or ask for permission to read and write it"],
  NoSpace: ["no space is left on the device", "Make room, and try again: what was stored before is whole"],
  Locked: ["somebody else is appending to it", "Close it there, or use another file"],
  NotASession: ["it does not begin as a session does, and was left as it is", "Check the path, or name a new file"],
  OtherVersion: ["it was written in another version", "Open it with the version of the library that wrote it"],
  BrokenLine: [
    "a line in it is broken",
    "It was left as it is: repair that line, or copy the lines above it to a new file"
  ],
  InvalidEvent: ["it is no event", "Append what the constructors of AgentEvent make"],
  Closed: ["it is closed", "Open it again"],
  NotDurable: [
    "the system could not say that what was written before is on the disk",
    "Look at the disk, then open it again"
  ],
  Unknown: ["the system refused", "Try again; if that does not help, look at the cause"]
}

/**
 * An operation on a session failed.
 *
 * An `append` that failed has not happened, and leaves no half of an event behind. One that failed for lack of space can be
 * tried again. A session that could not be opened was not changed, except that a torn last line may be gone.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Session } from "quiesce"
 *
 * const error = new Session.SessionError({ operation: "append", session: "work.jsonl", reason: "NoSpace" })
 * assert.strictEqual(error.code, "SESSION_NO_SPACE")
 * assert.match(error.message, /^Cannot append to session "work.jsonl": no space is left/)
 * ```
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionError extends Schema.TaggedError<SessionError>("quiesce/Session/SessionError")("SessionError", {
  operation: Schema.Literal("open", "append", "sync", "close"),
  /** The name of its storage, such as a path. */
  session: Schema.String,
  reason: Reason,
  /** The line that it is about, counted from 1. */
  line: Schema.optional(Schema.Int),
  /** What happened, where that can be said better than by the reason alone. */
  detail: Schema.optional(Schema.String),
  /** What to do, where that can be said better than by the reason alone. */
  advice: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect)
}) {
  /** The reason as a code, such as `SESSION_NO_SPACE`. */
  get code(): string {
    return `SESSION_${this.reason.replace(/(?<!^)(?=[A-Z])/g, "_").toUpperCase()}`
  }

  override get message(): string {
    const [what, advice] = texts[this.reason]
    const verb = this.operation === "append" ? "append to" : this.operation
    const line = this.line === undefined ? "" : `, line ${this.line}`
    return `Cannot ${verb} session "${this.session}"${line}: ${this.detail ?? what}. ${this.advice ?? advice}.`
  }
}

/**
 * What a session is stored in: bytes that only grow, one line for each event. Everything in it is synchronous.
 *
 * It throws a `SessionError`; anything else that it throws becomes one with the reason `Unknown`. One storage has one
 * session at a time: whoever makes it keeps others out.
 *
 * @since 0.1.0
 * @category models
 */
export type Storage = AnyStorage

/**
 * A message that waits in the queue.
 *
 * @since 0.1.0
 * @category models
 */
export type QueuedInput = AnyQueuedInput

/**
 * Where a session stands: the number of its last turn, and what is queued.
 *
 * @since 0.1.0
 * @category models
 */
export type Position = AnyPosition

/**
 * When what was appended is forced to the disk, so that it survives a loss of power. The end of the program, a `kill -9`
 * too, loses nothing in any case.
 *
 * - `always`: before each `append` returns. Some milliseconds each
 * - `turn`: when a step or a turn has ended, and when the session is opened or closed; and when `sync` is called
 * - `never`: when `sync` is called
 *
 * @since 0.1.0
 * @category models
 */
export type SyncPolicy = "always" | "turn" | "never"

/**
 * What is told of a session that is made or opened.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Whose session it is, where it is new. Default: `agent`. */
  readonly agent?: string | undefined
  /** Default: `turn`. */
  readonly sync?: SyncPolicy | undefined
}

/**
 * A session that is open.
 *
 * @since 0.1.0
 * @category services
 */
export interface Service {
  /**
   * Appends an event, and gives it back with its place: a frozen copy.
   *
   * One synchronous step, so nothing can interrupt it. When it has returned, the event is stored (how surely says
   * `SyncPolicy`), and everybody sees it. Throws a `SessionError` when it has not happened: nothing of the event is left
   * behind then, in memory or on the disk.
   */
  readonly append: (event: AgentEvent.AgentEvent) => AgentEvent.Envelope
  /**
   * Completes when everything that was appended survives a loss of power. Throws a `SessionError` when that is not known;
   * from then on nothing is appended any more.
   */
  readonly sync: () => void
  /** Everything that has happened so far. */
  readonly events: () => ReadonlyArray<AgentEvent.Envelope>
  /**
   * Everything that has happened and that will happen, from the event with the number `from` on (default: 1, the first),
   * until the session is closed.
   *
   * It reads the log itself, as fast as it is pulled: a slow reader holds up nobody, misses nothing, and costs no memory.
   * Can be interrupted while it waits, and leaves nothing behind.
   */
  readonly follow: (from?: number) => Stream.Stream<AgentEvent.Envelope>
  /**
   * What a request made now would hold (without instructions to the model).
   *
   * Valid at any time: every call is followed by one result, in the order of the calls, and then by what the calls want
   * the model to be told (L8, L12). A call whose result is not there yet is shown with one that says so.
   */
  readonly messages: () => ReadonlyArray<Model.Message>
  /** Where the session stands. */
  readonly position: () => Position
  /**
   * Appends `SessionClosed`, forces it to the disk (unless the policy is `never`), and appends nothing any more. Those who
   * follow come to their end.
   *
   * Never throws: what goes wrong is logged as a warning. Closing twice is closing once. The storage is given back when
   * the scope of the session closes, which closes it, too.
   */
  readonly close: () => void
}

/**
 * Service that keeps the session of an agent.
 *
 * @since 0.1.0
 * @category services
 */
export class Session extends Context.Tag("quiesce/Session")<Session, Service>() {}

const isSessionError = (u: unknown): u is SessionError => u instanceof SessionError

const serviceOf = ({ close, log }: Opened): Service => {
  const messages = new Derived(new Messages())
  const position = new Derived(new Place())
  return {
    append: (event) => log.append(event),
    sync: () => log.sync(),
    events: () => [...log.all],
    follow: (from = 1) => log.follow(from),
    messages: () => messages.from(log.all),
    position: () => position.from(log.all),
    close
  }
}

/**
 * Makes a session in `storage`, or opens the one that is there; it is closed with the scope. Without `storage` it is kept
 * in memory, and gone when nobody holds it any more.
 *
 * Opening puts a session in order (see the module) and logs a warning that names the storage, and the line, where
 * something was to do. Fails with a `SessionError` for what it cannot read, and then leaves it as it is.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { AgentEvent, Content, Session } from "quiesce"
 *
 * const program = Effect.gen(function* () {
 *   const session = yield* Session.make({ agent: "clerk" })
 *   session.append(AgentEvent.TurnStarted.make({ turn: 1 }))
 *   session.append(AgentEvent.StepStarted.make({ turn: 1, step: 1 }))
 *   session.append(AgentEvent.UserMessage.make({ turn: 1, step: 1, content: [Content.text("What is in README.md?")] }))
 *   assert.strictEqual(session.events().length, 4) // the first is `SessionStarted`
 *   return session.messages()
 * })
 * assert.deepStrictEqual(await Effect.runPromise(Effect.scoped(program)), [
 *   { role: "user", content: [{ type: "text", text: "What is in README.md?" }] }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options & { readonly storage?: Storage | undefined } = {}
): Effect.Effect<Service, SessionError, Scope.Scope> => {
  const session = options.storage?.name ?? "memory"
  const open = openLog({
    agent: options.agent ?? "agent",
    storage: options.storage,
    sync: options.sync ?? "turn",
    refuse: (operation, problem: Problem) => new SessionError({ operation, session, ...problem }),
    rethrow: (operation, thrown) => {
      if (!isSessionError(thrown)) return new SessionError({ operation, session, reason: "Unknown", cause: thrown })
      const { cause, detail, line, reason } = thrown
      return operation === thrown.operation
        ? thrown
        : new SessionError({ operation, session, reason, detail, line, cause })
    }
  })
  return Effect.map(open, serviceOf)
}

/**
 * Layer of a session that is kept in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options: Pick<Options, "agent"> = {}): Layer.Layer<Session> =>
  Layer.scoped(Session, Effect.orDie(make(options)))

/**
 * Layer of a session that is kept in a storage. See `make`. `quiesce/node` has one for files.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStorage = <E>(
  storage: Effect.Effect<Storage, E, Scope.Scope>,
  options: Options = {}
): Layer.Layer<Session, E | SessionError> =>
  Layer.scoped(
    Session,
    Effect.flatMap(storage, (storage) => make({ ...options, storage }))
  )

/**
 * Appends an event to the session in context. See `Service.append`, which does the same without a suspension.
 *
 * @since 0.1.0
 * @category running
 */
export const append = (event: AgentEvent.AgentEvent): Effect.Effect<AgentEvent.Envelope, SessionError, Session> =>
  Effect.flatMap(Session, (session) => attempt(() => session.append(event)))

/**
 * Follows the session in context. See `Service.follow`.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Chunk, Effect, Stream } from "effect"
 * import { AgentEvent, Session } from "quiesce"
 *
 * const program = Effect.gen(function* () {
 *   const following = yield* Effect.fork(Stream.runCollect(Session.follow(2)))
 *   yield* Session.append(AgentEvent.TurnStarted.make({ turn: 1 }))
 *   const session = yield* Session.Session
 *   session.close()
 *   return Chunk.toReadonlyArray(yield* following)
 * })
 * const seen = await Effect.runPromise(Effect.provide(program, Session.layerMemory()))
 * assert.deepStrictEqual(seen.map(({ event, seq }) => [seq, event._tag]), [[2, "TurnStarted"], [3, "SessionClosed"]])
 * ```
 *
 * @since 0.1.0
 * @category running
 */
export const follow = (from?: number): Stream.Stream<AgentEvent.Envelope, never, Session> =>
  Stream.unwrap(Effect.map(Session, (session) => session.follow(from)))

/**
 * What a model is shown of these events. See `Service.messages`.
 *
 * @since 0.1.0
 * @category converting
 */
export const toMessages: (events: Iterable<AgentEvent.Envelope>) => ReadonlyArray<Model.Message> = messagesOf

const attempt = <A>(step: () => A): Effect.Effect<A, SessionError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(step())
    } catch (thrown) {
      return isSessionError(thrown) ? Effect.fail(thrown) : Effect.die(thrown)
    }
  })
