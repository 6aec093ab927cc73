/**
 * The log of a session: the only place that appends to it.
 *
 * Invariants
 *
 * S1. An event is in the log when `append` has returned, whole, and is not when it has thrown. Storing it, and making it
 *     visible, are one synchronous step: there is no instant at which somebody could act on half of it.
 * S2. The event at place `i` has the number `i + 1`, and never changes.
 * S3. Nothing is appended behind the end.
 * S4. After a sync that failed nothing is appended any more: what was written before may be lost, and a system that was
 *     told so once does not say it again.
 * S5. Whoever follows reads the log itself, at a pace of its own: it holds nobody up, and misses nothing.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Stream from "effect/Stream"
import * as AgentEvent from "../../AgentEvent.js"
import { Settlement } from "../settlement.js"
import { plainCopy } from "./plain.js"
import type { Problem, Storage } from "./storage.js"

/** @internal */
export type Operation = "open" | "append" | "sync" | "close"

/** @internal */
export type SyncPolicy = "always" | "turn" | "never"

/** @internal */
export interface LogOptions {
  readonly storage: Storage | undefined
  readonly sync: SyncPolicy
  readonly now: () => number
  /** What is thrown for a problem. */
  readonly refuse: (operation: Operation, problem: Problem) => Error
  /** What is thrown where the storage threw. */
  readonly rethrow: (operation: Operation, thrown: unknown) => Error
}

const encoder = new TextEncoder()
const decodeEvent = ParseResult.decodeUnknownEither(AgentEvent.AgentEvent)

// Where a step or a turn is done, others may rely on it.
const isLandmark = ({ _tag }: AgentEvent.AgentEvent): boolean =>
  _tag === "SessionStarted" || _tag === "SessionReopened" || _tag === "StepEnded" || _tag === "TurnEnded"

/** @internal */
export class SessionLog {
  private readonly options: LogOptions
  private readonly envelopes: Array<AgentEvent.Envelope>
  /** How many bytes are stored. */
  private length: number
  private isClosed = false
  private syncFailure: unknown
  private grown = new Settlement<void>()

  constructor(options: LogOptions, envelopes: ReadonlyArray<AgentEvent.Envelope>, length: number) {
    this.options = options
    this.envelopes = [...envelopes]
    this.length = length
  }

  get all(): ReadonlyArray<AgentEvent.Envelope> {
    return this.envelopes
  }

  append(event: AgentEvent.AgentEvent): AgentEvent.Envelope {
    this.refuseIfOver("append")
    const envelope = this.envelop(event)
    this.store(envelope)
    this.envelopes.push(envelope) // S1
    this.tellFollowers()
    return envelope
  }

  sync(): void {
    this.refuseIfOver("sync")
    this.force("sync")
  }

  /** Appends the end. What went wrong is returned: the session is closed all the same. */
  close(): unknown {
    if (this.isClosed) return undefined
    let failure: unknown
    try {
      this.append({ _tag: "SessionClosed" })
      if (this.options.sync !== "never") this.force("close")
    } catch (error) {
      failure = error
    }
    this.isClosed = true // S3
    this.tellFollowers()
    return failure
  }

  follow(from: number): Stream.Stream<AgentEvent.Envelope> {
    const start = Math.max(0, Math.ceil(from) - 1)
    return Stream.unfoldChunkEffect(start, (at) => this.readFrom(at))
  }

  private readFrom(at: number): Effect.Effect<Option.Option<readonly [Chunk.Chunk<AgentEvent.Envelope>, number]>> {
    return Effect.suspend(() => {
      if (at < this.envelopes.length) {
        const next = this.envelopes.slice(at, at + 256)
        return Effect.succeedSome([Chunk.unsafeFromArray(next), at + next.length] as const)
      }
      if (this.isClosed) return Effect.succeed(Option.none())
      return Effect.flatMap(this.grown.waitTidily(), () => this.readFrom(at)) // S5
    })
  }

  private tellFollowers(): void {
    const grown = this.grown
    this.grown = new Settlement()
    grown.settle()
  }

  private refuseIfOver(operation: Operation): void {
    if (this.isClosed) throw this.options.refuse(operation, { reason: "Closed" }) // S3
    if (this.syncFailure !== undefined) {
      throw this.options.refuse(operation, { reason: "NotDurable", cause: this.syncFailure }) // S4
    }
  }

  private envelop(event: AgentEvent.AgentEvent): AgentEvent.Envelope {
    const copy = plainCopy(event)
    if (Either.isLeft(copy)) throw this.options.refuse("append", { reason: "InvalidEvent", detail: copy.left })
    if (!AgentEvent.isAgentEvent(copy.right)) {
      const error = decodeEvent(copy.right)
      const detail = Either.isLeft(error) ? ParseResult.TreeFormatter.formatIssueSync(error.left) : undefined
      throw this.options.refuse("append", {
        reason: "InvalidEvent",
        ...(detail === undefined ? {} : { detail })
      })
    }
    return Object.freeze({ seq: this.envelopes.length + 1, at: this.options.now(), event: copy.right }) // S2
  }

  private store(envelope: AgentEvent.Envelope): void {
    const { rethrow, storage, sync } = this.options
    if (storage === undefined) return
    const line = encoder.encode(`${JSON.stringify(envelope)}\n`)
    try {
      storage.append(line)
    } catch (error) {
      throw rethrow("append", error)
    }
    if (sync === "always" || (sync === "turn" && isLandmark(envelope.event))) {
      try {
        this.force("append")
      } catch (error) {
        this.takeBack()
        throw error
      }
    }
    this.length += line.length
  }

  private force(operation: Operation): void {
    try {
      this.options.storage?.sync()
    } catch (error) {
      const failure = this.options.rethrow(operation, error)
      this.syncFailure = failure
      throw failure
    }
  }

  // Should this fail, too, the line is whole, and behind it nothing comes.
  private takeBack(): void {
    try {
      this.options.storage?.cut(this.length)
    } catch {
      // What has failed is being thrown already.
    }
  }
}
