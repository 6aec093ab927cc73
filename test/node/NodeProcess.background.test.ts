import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Scope } from "effect"
import { CancelCause, Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { grace, Place, recorded, sleeper } from "../support/place.js"
import { alive, groupMembers, waitUntil } from "../support/processes.js"

const user = CancelCause.user("enough")

/** A service with a layer that the test closes. */
class Background {
  readonly place: Place
  readonly service: Process.Service
  readonly close: Effect.Effect<void>

  constructor(place: Place, service: Process.Service, close: Effect.Effect<void>) {
    this.place = place
    this.service = service
    this.close = close
  }

  /** Starts a bash script under an owner that ends right after that. */
  bash(script: string, options: Partial<Process.StartOptions> = {}) {
    const { folder } = this.place
    return Cancellation.own(
      this.service.start({ command: "bash", args: ["-c", script, folder], cwd: folder, grace, ...options })
    )
  }

  readonly running = Effect.suspend(() => this.service.list)
}

const inBackground = <A, E>(body: (background: Background) => Effect.Effect<A, E, Cancellation.Cancellation>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Place()),
    (place) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(NodeProcess.layer, scope)
        const service = Context.get(context, Process.Process)
        const close = Scope.close(scope, Exit.void)
        return yield* Effect.ensuring(Cancellation.own(body(new Background(place, service, close))), close)
      }),
    (place) => Effect.sync(() => place.close())
  )

describe("start", () => {
  it.live("215: it outlives the owner that started it, and closing the layer ends its whole tree", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const { place } = background
        const handle = yield* background.bash(
          `(trap "" TERM; echo $BASHPID >child; while :; do sleep 0.02; done) & ${sleeper}`
        )
        yield* place.written("child")
        assert.strictEqual((yield* handle.status)._tag, "Running")
        assert.deepStrictEqual(yield* background.running, [handle])
        yield* background.close
        assert.deepStrictEqual(groupMembers(handle.pid), [])
        const status = yield* handle.status
        assert.strictEqual(status._tag, "Ended")
        assert.strictEqual(status._tag === "Ended" && status.cause?._tag, "Disposed")
        assert.deepStrictEqual(yield* background.running, [])
      })
    )
  )

  it.live("215: the caller's cancellation after the commit point does not reach it", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const started: Array<Process.Background> = []
        const caller = Effect.flatMap(background.service.start({ command: "sleep", args: ["60"] }), (handle) =>
          Effect.suspend(() => {
            started.push(handle)
            controller.abort("too late")
            return Effect.never
          })
        )
        const exit = yield* Effect.exit(Cancellation.ownSignal(caller, controller.signal))
        assert.isTrue(Exit.isInterrupted(exit))
        const handle = started[0] as Process.Background
        assert.isTrue(alive(handle.pid))
        assert.strictEqual((yield* handle.status)._tag, "Running")
      })
    )
  )

  it.live("215, 216: interrupted anywhere around its start, it is the service's or it is gone", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const seen = new Set<string>()
        for (let turns = 0; turns < 24; turns++) {
          const fiber = yield* Effect.fork(background.bash(`echo $$ >leader; ${sleeper}`))
          for (let turn = 0; turn < turns % 12; turn++) yield* Effect.yieldNow()
          yield* Fiber.interrupt(fiber)
          const running = yield* background.running
          const expected = running.map(({ pid }) => pid)
          assert.deepStrictEqual(
            background.place.running.filter((pid) => !expected.some((leader) => groupMembers(leader).includes(pid))),
            []
          )
          seen.add(running.length === 0 ? "gone" : "handed over")
          for (const handle of running) {
            yield* handle.kill(user)
            yield* handle.awaitExit
          }
        }
        assert.deepStrictEqual([...seen].sort(), ["gone", "handed over"])
      })
    )
  )

  it.live("216: under an owner that is cancelled already nothing is started", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const start = background.service.start({ command: "sleep", args: ["60"] })
        const exit = yield* Effect.exit(Cancellation.ownSignal(start, AbortSignal.abort()))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.deepStrictEqual(yield* background.running, [])
      })
    )
  )

  it.live("217: what cannot be started is a failure that says why, and leaves nothing", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handles = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length
        const before = handles()
        for (let i = 0; i < 50; i++) {
          const error = yield* Effect.flip(
            background.service.start({ command: "no-such-command", keepStdinOpen: true })
          )
          assert.strictEqual(error.code, "PROCESS_COMMAND_NOT_FOUND")
        }
        yield* waitUntil(() => handles() <= before)
        assert.deepStrictEqual(yield* background.running, [])
      })
    )
  )

  it.live("after its layer is closed nothing is started", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        yield* background.close
        const error = yield* Effect.flip(background.bash(sleeper))
        assert.deepInclude(error, { code: "PROCESS_SERVICE_CLOSED", command: "bash" })
        assert.deepStrictEqual(background.place.running, [])
      })
    )
  )

  it.live("closing the layer names what survives even SIGKILL or has left the group", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => void logged.push(message))
        const script = `setsid bash -c 'echo $$ >away; exec -a "$0" sleep 60' "$0" >/dev/null 2>&1 & until [ -s away ]; do sleep 0.01; done; echo $$ >leader; sleep 60`
        const handle = yield* background.bash(script).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        yield* background.place.written("leader")
        yield* background.close
        const named = `process ${background.place.pid("away")} (sleep), which has left the process group ${handle.pid}`
        assert.deepStrictEqual((yield* handle.awaitExit).escaped, [named])
        assert.deepStrictEqual(logged, [["Processes in the background could not be stopped", { escaped: [named] }]])
        assert.deepStrictEqual(yield* recorded, [], "nobody's call has ended it")
      })
    )
  )
})

describe("the handle of a process in the background", () => {
  it.live("214: kill asks once, keeps the first cause, and the wait sees the end of the whole tree", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash(
          `trap 'echo asked >>asked' TERM; echo $$ >leader; while :; do sleep 0.02; done`
        )
        yield* background.place.written("leader")
        assert.isTrue(yield* handle.kill(user))
        assert.isFalse(yield* handle.kill(CancelCause.disposed()))
        assert.deepStrictEqual(yield* handle.status, { _tag: "Stopping", cause: user })
        const ending = yield* handle.awaitExit
        assert.deepInclude(ending, { pid: handle.pid, signal: "SIGKILL", exitCode: undefined, timedOut: false })
        assert.deepStrictEqual(groupMembers(handle.pid), [])
        assert.strictEqual(background.place.read("asked"), "asked\n")
        assert.deepStrictEqual(yield* handle.status, { _tag: "Ended", cause: user, ending })
        assert.isFalse(yield* handle.kill(user))
      })
    )
  )

  it.live("214: a wait that is interrupted leaves the process alone", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash(sleeper)
        const waiting = yield* Effect.fork(handle.awaitExit)
        yield* Effect.yieldNow()
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(waiting)))
        const late = yield* Effect.exit(
          Cancellation.withDeadline(handle.awaitExit, {
            duration: "20 millis",
            onExpire: () => Effect.succeed("later")
          })
        )
        assert.deepStrictEqual(late, Exit.succeed("later"))
        assert.isTrue(alive(handle.pid))
      })
    )
  )

  it.live("a natural end has no cause, and what the leader left behind is ended too", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash(`(exec -a "$0" sleep 60) >/dev/null 2>&1 & exit 3`)
        const ending = yield* handle.awaitExit
        assert.deepInclude(ending, { exitCode: 3, signal: undefined, escaped: [] })
        assert.deepStrictEqual(groupMembers(handle.pid), [])
        assert.deepStrictEqual(yield* handle.status, { _tag: "Ended", cause: undefined, ending })
      })
    )
  )

  it.live("its own timeout stops it", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash("sleep 60", { timeout: "100 millis" })
        assert.deepInclude(yield* handle.awaitExit, { timedOut: true, signal: "SIGTERM" })
      })
    )
  )

  it.live("a reader with a cursor gets only what is new, and never half a character", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const script = String.raw`printf 'one\xc3'; echo $$ >first; until [ -e go ]; do sleep 0.01; done; printf '\xa9two'; echo err >&2`
        const handle = yield* background.bash(script)
        yield* background.place.written("first")
        yield* waitUntil(() => Effect.runSync(handle.read()).stdout !== "")
        const first = yield* handle.read()
        assert.deepInclude(first, { stdout: "one", stderr: "", stdoutSkipped: 0, cursor: { stdout: 3, stderr: 0 } })
        assert.strictEqual((yield* handle.read(first.cursor)).stdout, "")
        yield* Effect.sync(() => background.place.write("go"))
        yield* handle.awaitExit
        const second = yield* handle.read(first.cursor)
        assert.deepInclude(second, { stdout: "étwo", stderr: "err\n", cursor: { stdout: 8, stderr: 4 } })
        assert.deepInclude(yield* handle.read(second.cursor), { stdout: "", stderr: "" })
        assert.strictEqual((yield* handle.read()).stdout, "oneétwo")
        assert.strictEqual((yield* handle.read({ stdout: -1, stderr: Number.NaN })).stderr, "err\n")
        assert.strictEqual((yield* handle.read({ stdout: 99, stderr: 0 })).stdout, "")
      })
    )
  )

  it.live("the last bytes are kept, a reader that comes late is told what it missed, and a file has all", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash("for i in {1..9999}; do echo é$i; done", { maxOutputBytes: 6, spill: {} })
        yield* handle.awaitExit
        const part = yield* handle.read()
        // The limit falls within the é.
        assert.deepInclude(part, { stdout: "9999\n" })
        assert.strictEqual(part.stdoutSkipped + Buffer.byteLength(part.stdout), part.cursor.stdout)
        assert.isAbove(part.stdoutSkipped, 60_000)
        assert.strictEqual(background.place.size(part.stdoutFile), part.cursor.stdout)
      })
    )
  )

  it.live("what is written is read in order, also in pieces, and a closed input is the end of it", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash("cat", {
          stdin: "first ",
          keepStdinOpen: true,
          maxOutputBytes: 1_000_000
        })
        const long = "😀".repeat(50_000)
        yield* Effect.all([handle.write(`a${long}`), handle.write("second")], { concurrency: "unbounded" })
        yield* handle.closeStdin
        yield* handle.closeStdin
        assert.strictEqual((yield* handle.awaitExit).exitCode, 0)
        assert.isTrue((yield* handle.read()).stdout === `first a${long}second`)
        assert.deepInclude(yield* Effect.flip(handle.write("more")), { reason: "InputClosed", detail: "it was closed" })
      })
    )
  )

  it.live("a write that nobody reads is ended by an interruption, and by the end of the process", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash(sleeper, { keepStdinOpen: true })
        const text = "x".repeat(1_000_000)
        const first = yield* Effect.fork(handle.write(text))
        const queued = yield* Effect.fork(handle.write("behind it"))
        yield* Effect.sleep("30 millis")
        yield* Fiber.interrupt(queued)
        yield* Fiber.interrupt(first)
        assert.isTrue(alive(handle.pid))
        const second = yield* Effect.fork(Effect.flip(handle.write(text)))
        yield* Effect.yieldNow()
        yield* handle.kill(user)
        assert.strictEqual((yield* Fiber.join(second)).code, "PROCESS_INPUT_CLOSED")
        yield* handle.awaitExit
        assert.deepInclude(yield* Effect.flip(handle.write("more")), { reason: "InputClosed", detail: "it has ended" })
      })
    )
  )

  it.live("an input that was not left open takes nothing", () =>
    inBackground((background) =>
      Effect.gen(function* () {
        const handle = yield* background.bash("cat; sleep 60")
        assert.deepInclude(yield* Effect.flip(handle.write("more")), {
          reason: "InputClosed",
          detail: "it was not left open"
        })
        yield* handle.closeStdin
      })
    )
  )
})
