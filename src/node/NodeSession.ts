/**
 * Keeps a session in a file: one line of JSON for each event.
 *
 * An event is written in the step in which it is appended, with a blocking call, so that what has happened and what is
 * stored never differ. That call takes some microseconds; one that forces it to the disk (`Session.SyncPolicy`) takes
 * milliseconds, in which the program does nothing else.
 *
 * Beside an open session lies its lock file (`.lock`). It names the process that has the session open. A lock of a process
 * that is gone, such as after a crash, is taken over by the next who opens the session on the same machine; elsewhere one
 * cannot know, and a person has to remove it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { openSessionFile } from "../internal/node/session/sessionFile.js"
import * as Session from "../Session.js"

/**
 * What is told of a session in a file.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Session.Options {
  /** Its path. A file that does not exist is made, readable for this user only; its folder is not. */
  readonly file: string
}

/**
 * Makes a session in a file, or opens the one that is there, and puts it in order (see `Session.make`). It is closed with
 * the scope.
 *
 * One session at a time has a file: a second one, of this process or another, fails with `Locked`. A file that is no
 * session, that has a broken line, or that was written in another version, is left as it is, and named with the line.
 * When the scope has closed, neither the file is open nor its lock is there.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import * as fs from "node:fs"
 * import * as os from "node:os"
 * import * as path from "node:path"
 * import { Effect } from "effect"
 * import { AgentEvent } from "quiesce"
 * import { NodeSession } from "quiesce/node"
 *
 * const folder = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-"))
 * const file = path.join(folder, "work.jsonl")
 *
 * const first = Effect.gen(function* () {
 *   const session = yield* NodeSession.make({ file })
 *   session.append(AgentEvent.TurnStarted.make({ turn: 1 }))
 *   session.append(AgentEvent.TurnEnded.make({ turn: 1, outcome: { _tag: "Completed" } }))
 * })
 * await Effect.runPromise(Effect.scoped(first))
 *
 * const second = Effect.map(NodeSession.make({ file }), (session) => session.position().turn)
 * assert.strictEqual(await Effect.runPromise(Effect.scoped(second)), 1)
 * assert.deepStrictEqual(fs.readdirSync(folder), ["work.jsonl"])
 * fs.rmSync(folder, { recursive: true })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ({
  file,
  ...options
}: Options): Effect.Effect<Session.Service, Session.SessionError, Scope.Scope> =>
  Effect.flatMap(openSessionFile(file), (storage) => Session.make({ ...options, storage }))

/**
 * Layer of a session in a file. See `make`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = ({ file, ...options }: Options): Layer.Layer<Session.Session, Session.SessionError> =>
  Session.layerStorage(openSessionFile(file), options)
