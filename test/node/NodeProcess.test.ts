import * as fs from "node:fs"
import { assert, describe, it, vi } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { grace, inPlace, interrupt, leftover, recorded, sleeper, stubborn, withoutProc } from "../support/place.js"
import { alive, groupMembers, waitUntil } from "../support/processes.js"

const errorOf = (options: Process.RunOptions) => Effect.flip(Process.run(options))

describe("what run tells", () => {
  it.live("an exit code other than 0 is a result", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { pid, ...rest } = yield* place.bash("echo out; echo err >&2; exit 3")
        assert.isAbove(pid, 1)
        assert.deepStrictEqual(rest, {
          stdout: "out\n",
          stderr: "err\n",
          stdoutTruncated: false,
          stderrTruncated: false,
          stdoutFile: undefined,
          stderrFile: undefined,
          exitCode: 3,
          signal: undefined,
          timedOut: false,
          escaped: []
        })
      })
    )
  )

  it.live("209: over its time, it is timed out, and the signal that ended it is a fact of its own", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash("exec sleep 60", { timeout: "100 millis" })
        assert.deepInclude(result, { timedOut: true, exitCode: undefined, signal: "SIGTERM" })
      })
    )
  )

  it.live("209: over its time, it may still exit in its own way", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash("trap 'echo bye; exit 0' TERM; sleep 60 & wait", { timeout: "200 millis" })
        assert.deepInclude(result, { timedOut: true, exitCode: 0, signal: undefined, stdout: "bye\n" })
      })
    )
  )

  it.live("209: what kills itself is neither timed out nor interrupted", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const killed = yield* place.bash("kill -KILL $$", { timeout: "10 seconds" })
        assert.deepInclude(killed, { timedOut: false, exitCode: undefined, signal: "SIGKILL" })
        const ended = yield* place.bash("kill -TERM $$")
        assert.deepInclude(ended, { timedOut: false, exitCode: undefined, signal: "SIGTERM" })
      })
    )
  )

  it.live("209: the time that passes while leftovers are cleaned up is not the command's", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash(`${stubborn} & until [ -s child ]; do sleep 0.01; done`, {
          timeout: "600 millis",
          grace: "800 millis"
        })
        assert.deepInclude(result, { timedOut: false, exitCode: 0 })
      })
    )
  )

  it.live("209: a leader that ended in time is not timed out because this program was busy", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(place.bash("echo $$ >leader; sleep 0.2; exit 4", { timeout: "1 second" }))
        yield* place.written("leader")
        // Busy from an immediate on: after those, Node looks at timers before it looks at processes.
        yield* Effect.async<void>((resume) => {
          setImmediate(() => {
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
            resume(Effect.void)
          })
        })
        assert.deepInclude(yield* Fiber.join(fiber), { timedOut: false, exitCode: 4 })
      })
    )
  )
})

describe("stopping", () => {
  it.live("208: a leader that ignores SIGTERM is killed when its grace is over", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(
          place.bash(`trap "" TERM; echo $$ >leader; while :; do sleep 0.02; done`, { grace, timeout: "10 seconds" })
        )
        yield* place.written("leader")
        const took = yield* interrupt(fiber)
        assert.deepStrictEqual(groupMembers(place.pid("leader")), [])
        assert.isAtLeast(took, 245)
        assert.isBelow(took, 2000)
      })
    )
  )

  it.live("208: the signal of a host stops it as an interruption does", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const controller = new AbortController()
        const fiber = yield* Effect.fork(
          Cancellation.ownSignal(place.bash("echo $$ >leader; sleep 60 & sleep 60; wait"), controller.signal)
        )
        yield* place.written("leader")
        controller.abort(new Error("tab closed"))
        assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
        assert.deepStrictEqual(groupMembers(place.pid("leader")), [])
      })
    )
  )

  it.live("210: under a cancelled owner nothing is spawned", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const effect = place.bash("echo $$ >leader")
        assert.isTrue(Exit.isInterrupted(yield* Effect.exit(Cancellation.ownSignal(effect, AbortSignal.abort()))))
        const ended = yield* Effect.scoped(Cancellation.ownScoped)
        const late = yield* Effect.exit(Effect.provide(effect, ended))
        assert.isTrue(Exit.isFailure(late) && Cause.isDie(late.cause))
        const pending = yield* Effect.fork(
          Effect.uninterruptibleMask((restore) => Effect.zipRight(Effect.sleep("20 millis"), restore(effect)))
        )
        yield* Effect.yieldNow()
        yield* interrupt(pending)
        assert.deepStrictEqual(place.running, [])
        assert.strictEqual(place.read("leader"), "")
      })
    )
  )

  it.live("210: an interrupt that comes anywhere before the spawn prevents it", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const kill = vi.spyOn(process, "kill")
        yield* Effect.addFinalizer(() => Effect.sync(() => kill.mockRestore()))
        const spawned = () => process.getActiveResourcesInfo().includes("ProcessWrap")
        const seen = new Set<boolean>()
        // A fiber gives way after 2048 operations. Growing the padding moves that point across the start.
        for (let padding = 2010; padding < 2050; padding++) {
          yield* waitUntil(() => !spawned())
          kill.mockClear()
          const steps = Effect.gen(function* () {
            for (let i = 0; i < padding; i++) yield* Effect.sync(() => {})
          })
          const fiber = yield* Effect.fork(Effect.zipRight(steps, place.bash(sleeper)))
          yield* Effect.yieldNow()
          const before = spawned()
          yield* interrupt(fiber)
          const signalled = kill.mock.calls.some(([, signal]) => signal === "SIGTERM")
          assert.strictEqual(signalled, before, `padding ${padding}`)
          seen.add(before)
        }
        assert.strictEqual(seen.size, 2) // it was interrupted on both sides of the spawn
      })
    )
  )

  it.live("211: it does not complete before a descendant that ignores SIGTERM is gone", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const busy = `(trap "" TERM; echo $BASHPID >child; while :; do echo x >>work; sleep 0.01; done)`
        const fiber = yield* Effect.fork(place.bash(`echo $$ >leader; ${busy} & wait`, { grace }))
        yield* place.written("leader", "child", "work")
        const took = yield* interrupt(fiber)
        const work = place.read("work")
        assert.isFalse(alive(place.pid("child")))
        assert.deepStrictEqual(groupMembers(place.pid("leader")), [])
        assert.isAtLeast(took, 245)
        yield* Effect.sleep("60 millis")
        assert.strictEqual(place.read("work"), work)
      })
    )
  )

  it.live("213: SIGTERM is sent once, whoever asks, and nothing after the group is gone", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const kill = vi.spyOn(process, "kill")
        yield* Effect.addFinalizer(() => Effect.sync(() => kill.mockRestore()))
        const controller = new AbortController()
        const fiber = yield* Effect.fork(
          Cancellation.ownSignal(
            place.bash(`trap 'echo TERM >>asked' TERM; echo $$ >leader; while :; do sleep 0.02; done`, {
              grace: "500 millis",
              timeout: "250 millis"
            }),
            controller.signal
          )
        )
        yield* place.written("leader", "asked")
        controller.abort()
        yield* Effect.all([interrupt(fiber), interrupt(fiber)], { concurrency: "unbounded" })
        assert.strictEqual(place.read("asked"), "TERM\n")
        NodeProcess.killAll()
        const sent = kill.mock.calls.filter(([, signal]) => signal !== 0)
        assert.deepStrictEqual(sent, [
          [-place.pid("leader"), "SIGTERM"],
          [-place.pid("leader"), "SIGKILL"]
        ])
      })
    )
  )

  it.live("213: an interruption while leftovers are cleaned up does not ask them again", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const counting = `(trap 'echo TERM >>asked' TERM; echo $BASHPID >child; while :; do sleep 0.02; done)`
        const fiber = yield* Effect.fork(place.bash(`${counting} & until [ -s child ]; do sleep 0.01; done`, { grace }))
        yield* place.written("asked")
        yield* interrupt(fiber)
        assert.strictEqual(place.read("asked"), "TERM\n")
        assert.deepStrictEqual(place.running, [])
      })
    )
  )

  it.live("213: a command that leaves nothing behind gets no signal at all", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const kill = vi.spyOn(process, "kill")
        yield* Effect.addFinalizer(() => Effect.sync(() => kill.mockRestore()))
        yield* place.bash("echo done")
        NodeProcess.killAll()
        assert.deepStrictEqual(
          kill.mock.calls.filter(([, signal]) => signal !== 0),
          []
        )
      })
    )
  )

  it.live("a grandchild that ignores SIGTERM is killed although its leader went at once", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(place.bash(`echo $$ >leader; ${stubborn} & ${sleeper} & wait`, { grace }))
        yield* place.written("leader", "child")
        yield* interrupt(fiber)
        assert.deepStrictEqual(groupMembers(place.pid("leader")), [])
        assert.deepStrictEqual(place.running, [])
      })
    )
  )

  it.live("a grandchild that cleans up within its grace has done so", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const tidy = `(trap 'sleep 0.3; echo tidy >cleaned; exit' TERM; echo $BASHPID >child; while :; do sleep 0.02; done)`
        const fiber = yield* Effect.fork(place.bash(`${tidy} & wait`, { grace: "5 seconds" }))
        yield* place.written("child")
        const took = yield* interrupt(fiber)
        assert.strictEqual(place.read("cleaned"), "tidy\n")
        assert.deepStrictEqual(place.running, [])
        assert.isBelow(took, 3000)
      })
    )
  )

  it.live("interrupted right at its spawn, nothing of it is alive", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        for (let i = 0; i < 30; i++) {
          const fiber = yield* Effect.fork(place.bash(`sleep 60 & ${sleeper} & wait`))
          for (let turn = 0; turn < i % 6; turn++) yield* i % 2 === 0 ? Effect.yieldNow() : Effect.sleep(0)
          yield* interrupt(fiber)
          assert.deepStrictEqual(place.running, [], `round ${i}`)
        }
      })
    )
  )

  it.live("no timer and no pipe is left, however it ends", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const timers = new Set<NodeJS.Timeout>()
        const { clearTimeout, setTimeout } = globalThis
        vi.stubGlobal("setTimeout", (task: () => void, millis: number) => {
          const timer = setTimeout(() => {
            timers.delete(timer)
            task()
          }, millis)
          timers.add(timer)
          return timer
        })
        vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout) => {
          timers.delete(timer)
          clearTimeout(timer)
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllGlobals()))
        const handles = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length
        const before = handles()
        for (const [script, timeout] of [
          ["exit 0", "1 minute"],
          [`${leftover}; exit 0`, "1 minute"],
          ["exec sleep 60", "50 millis"]
        ] as const) {
          yield* place.bash(script, { timeout, grace: "1 minute", stdin: "text" })
          assert.strictEqual(timers.size, 0, script)
          yield* waitUntil(() => handles() <= before, 1000) // Node closes what has ended a moment later
        }
      })
    )
  )

  it.live("started from a daemon fiber, it is stopped at its owner's end (L14)", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        yield* Cancellation.own(
          Effect.zipRight(Effect.forkDaemon(place.bash(`echo $$ >leader; ${sleeper}`)), place.written("leader"))
        )
        assert.deepStrictEqual(place.running, [])
      })
    )
  )

  it.live("in a protected region it runs to its end", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const script = "echo $$ >leader; sleep 0.2; echo done >finished"
        const fiber = yield* Effect.fork(Effect.uninterruptible(place.bash(script)))
        yield* place.written("leader")
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(place.read("finished"), "done\n")
      })
    )
  )

  it.live("killAll kills what is alive in one step, and those who wait see it", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const first = yield* Effect.fork(place.bash(`trap "" TERM; echo $$ >one; while :; do sleep 0.02; done`))
        const second = yield* Effect.fork(place.bash(`echo $$ >two; ${sleeper} & wait`))
        yield* place.written("one", "two")
        assert.strictEqual(NodeProcess.killAll(), 2)
        assert.deepInclude(yield* Fiber.join(first), { signal: "SIGKILL", timedOut: false })
        assert.deepInclude(yield* Fiber.join(second), { signal: "SIGKILL", timedOut: false })
        assert.deepStrictEqual(place.running, [])
        assert.strictEqual(NodeProcess.killAll(), 0)
      })
    )
  )
})

describe("what the leader leaves behind", () => {
  const ends = [
    { end: "exit 0", facts: { exitCode: 0, signal: undefined } },
    { end: "exit 3", facts: { exitCode: 3, signal: undefined } },
    { end: "kill -KILL $$", facts: { exitCode: undefined, signal: "SIGKILL" } }
  ]
  for (const { end, facts } of ends) {
    it.live(`after ${end}, its background child is ended too`, () =>
      inPlace((place) =>
        Effect.gen(function* () {
          const result = yield* place.bash(`${leftover}; ${end}`)
          assert.deepInclude(result, { ...facts, timedOut: false, escaped: [] })
          assert.isFalse(alive(place.pid("child")))
          assert.deepStrictEqual(groupMembers(result.pid), [])
        })
      )
    )
  }

  it.live("a background child that ignores SIGTERM is killed after its grace, and its output is kept", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const script = `(trap 'echo asked' TERM; echo $BASHPID >child; while :; do sleep 0.02; done) & until [ -s child ]; do sleep 0.01; done`
        const result = yield* place.bash(script, { grace })
        assert.deepInclude(result, { exitCode: 0, stdout: "asked\n" })
        assert.isFalse(alive(place.pid("child")))
      })
    )
  )

  it.live("a grandchild in a session of its own that holds the pipe is named, not waited for", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const start = performance.now()
        const script = `setsid bash -c 'echo $$ >child; exec -a "$0" sleep 60' "$0" & until [ -s child ]; do sleep 0.01; done; echo out`
        const result = yield* place.bash(script)
        const named = [`process ${place.pid("child")} (sleep), which has left the process group ${result.pid}`]
        assert.deepInclude(result, { exitCode: 0, stdout: "out\n", escaped: named })
        assert.deepStrictEqual(yield* recorded, named)
        assert.isBelow(performance.now() - start, 2000)
        assert.isTrue(alive(place.pid("child")))
      })
    )
  )

  it.live("a grace that ends while the pipe of an escaped one is still read changes nothing", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const away = `setsid bash -c 'echo $$ >away; exec -a "$0" sleep 60' "$0" & until [ -s away ]; do sleep 0.01; done`
        const result = yield* place.bash(`${away}; ${leftover}; exit 0`, { grace: "60 millis" })
        assert.deepStrictEqual(result.escaped, [
          `process ${place.pid("away")} (sleep), which has left the process group ${result.pid}`
        ])
      })
    )
  )

  it.live("a grandchild that never stops writing from another session does not hold it either", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const script = `setsid bash -c 'echo $$ >child; while :; do echo x; sleep 0.01; done' "$0" & until [ -s child ]; do sleep 0.01; done`
        const result = yield* place.bash(script)
        // Nobody reads its pipe any more, which may have ended it already.
        if (alive(place.pid("child"))) assert.include(result.escaped.join(), `process ${place.pid("child")} (`)
        yield* waitUntil(() => !alive(place.pid("child")))
      })
    )
  )

  it.live("on an interruption, one that only its parentage betrays is named to the owner", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const silent = `setsid bash -c 'echo $$ >child; exec -a "$0" sleep 60' "$0" >/dev/null 2>&1 &`
        const fiber = yield* Effect.fork(place.bash(`${silent} echo $$ >leader; wait`))
        yield* place.written("leader", "child")
        assert.isBelow(yield* interrupt(fiber), 2000)
        const what = `process ${place.pid("child")} \\((bash|sleep)\\), which has left the process group ${place.pid("leader")}`
        assert.match((yield* recorded).join(), new RegExp(`^${what}$`))
      })
    )
  )

  it.live("what even SIGKILL does not end is named, not waited for", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { kill } = process
        const spy = vi
          .spyOn(process, "kill")
          .mockImplementation((pid, signal) => signal === "SIGKILL" || kill(pid, signal))
        yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
        const script = `trap "" TERM; exec -a "$0" sleep 60`
        const result = yield* place.bash(script, { timeout: "100 millis", grace: "50 millis" })
        assert.deepInclude(result, { exitCode: undefined, signal: undefined, timedOut: true })
        assert.deepStrictEqual(result.escaped, [`process ${result.pid} (sleep), which has survived SIGKILL`])
        assert.deepStrictEqual(yield* recorded, result.escaped)
        spy.mockRestore()
        assert.strictEqual(NodeProcess.killAll(), 0)
      })
    )
  )

  it.live("without /proc, the group is ended and waited for all the same, and who escapes has no name", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const away = `setsid bash -c 'echo $$ >away; exec -a "$0" sleep 60' "$0" & until [ -s away ]; do sleep 0.01; done`
        const script = `${away}; trap "" TERM; echo $$ >leader; exec -a "$0" sleep 60`
        const { escaped, pid, signal } = yield* Effect.scoped(
          Effect.zipRight(withoutProc, place.bash(script, { timeout: "300 millis", grace }))
        )
        assert.strictEqual(signal, "SIGKILL")
        assert.deepStrictEqual(groupMembers(pid), [])
        assert.deepStrictEqual(escaped, [
          `a process that has left the process group ${pid} and holds its output open (its id is unknown)`
        ])
      })
    )
  )

  it.live("a zombie that nobody reaps is not waited for", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        // The parent of the zombie leaves the group, so the zombie is its only member left.
        const script = `exec perl -MPOSIX -e 'if (fork) { select(undef, undef, undef, 0.02) until -s "child"; exit } if (!fork) { exit } POSIX::setsid(); open F, ">child"; print F "$$\\n"; close F; $0 = shift; sleep 60' "$0" >/dev/null`
        const start = performance.now()
        const result = yield* place.bash(script, { grace: "10 seconds" })
        assert.strictEqual(result.exitCode, 0, result.stderr)
        process.kill(-result.pid, 0) // the zombie is there
        assert.deepStrictEqual(groupMembers(result.pid), [])
        assert.isBelow(performance.now() - start, 5000)
      })
    )
  )
})

describe("what cannot be started", () => {
  it.live("50 commands that do not exist leave nothing, and each says what to do", () =>
    inPlace(() =>
      Effect.gen(function* () {
        const open = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length
        const descriptors = () => fs.readdirSync("/proc/self/fd").length
        const before = open()
        for (let i = 0; i < 50; i++) {
          const opened = descriptors()
          const error = yield* errorOf({ command: "no-such-command-of-quiesce", stdin: "text", timeout: "1 minute" })
          assert.isAtMost(descriptors(), opened, "L3")
          assert.strictEqual(error.code, "PROCESS_COMMAND_NOT_FOUND")
          assert.match(error.message, /^"no-such-command-of-quiesce" was not found: install it/)
        }
        yield* waitUntil(() => open() <= before)
        assert.strictEqual(NodeProcess.killAll(), 0)
      })
    )
  )

  it.live("a working directory that is missing, or a file, is told from a missing command", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        fs.writeFileSync(place.path("file"), "")
        for (const cwd of [place.path("missing"), place.path("file")]) {
          const error = yield* errorOf({ command: "bash", cwd })
          assert.strictEqual(error.code, "PROCESS_BAD_WORKING_DIRECTORY")
          assert.include(error.message, `cannot run in "${cwd}"`)
        }
      })
    )
  )

  it.live.skipIf(process.getuid?.() === 0)("a working directory that may not be entered is no missing command", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        fs.mkdirSync(place.path("closed"), { mode: 0 })
        const error = yield* errorOf({ command: "bash", cwd: place.path("closed") })
        assert.deepInclude(error, { reason: "BadWorkingDirectory", detail: "it may not be entered" })
      })
    )
  )

  it.live("a file that may not be executed, a folder, and a script without its interpreter are told apart", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        fs.writeFileSync(place.path("plain"), "#!/bin/sh\n", { mode: 0o644 })
        fs.writeFileSync(place.path("script"), "#!/no/such/interpreter\n", { mode: 0o755 })
        const plain = yield* errorOf({ command: place.path("plain") })
        assert.strictEqual(plain.code, "PROCESS_NOT_EXECUTABLE")
        assert.include(plain.message, "chmod +x")
        const folder = yield* errorOf({ command: place.folder })
        assert.deepInclude(folder, { reason: "NotExecutable", detail: "it is a folder" })
        const script = yield* errorOf({ command: "./script", cwd: place.folder })
        assert.strictEqual(script.code, "PROCESS_INTERPRETER_NOT_FOUND")
        const searched = yield* errorOf({ command: "script", env: { PATH: place.folder } })
        assert.strictEqual(searched.code, "PROCESS_INTERPRETER_NOT_FOUND")
      })
    )
  )

  it.live("options that cannot work are refused before anything is started, and arguments are not quoted", () =>
    inPlace(() =>
      Effect.gen(function* () {
        const wrong: ReadonlyArray<Partial<Process.RunOptions>> = [
          { args: ["secret\0"] },
          { command: "" },
          { timeout: 0 },
          { timeout: 2 ** 31 },
          { grace: "30 days" },
          { maxOutputBytes: Number.NaN }
        ]
        for (const options of wrong) {
          const error = yield* errorOf({ command: "true", ...options })
          assert.strictEqual(error.code, "PROCESS_INVALID_OPTIONS")
          assert.notInclude(error.message, "secret")
        }
      })
    )
  )

  it.live("what the system refuses for another reason keeps the system's word", () =>
    inPlace(() =>
      Effect.gen(function* () {
        const error = yield* errorOf({ command: "true", args: ["x".repeat(4_000_000)] })
        assert.deepInclude(error, { code: "PROCESS_SPAWN_FAILED", detail: "E2BIG" })
      })
    )
  )

  it.live("on Windows it says that it cannot keep its promise", () =>
    inPlace(() =>
      Effect.gen(function* () {
        const platform = vi.spyOn(process, "platform", "get").mockReturnValue("win32")
        yield* Effect.addFinalizer(() => Effect.sync(() => platform.mockRestore()))
        const errors = [
          yield* errorOf({ command: "cmd" }),
          yield* Effect.flip(Process.start({ command: "cmd" })),
          yield* Effect.flip(Process.openSession())
        ]
        for (const error of errors) assert.strictEqual(error.code, "PROCESS_PLATFORM_NOT_SUPPORTED")
      })
    )
  )
})

describe("input and output", () => {
  it.live("a flood is read to its end and kept up to the limit, in bounded memory", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const before = process.memoryUsage().rss
        const flood = "head -c 50000000 /dev/zero | tr '\\0' x"
        const result = yield* place.bash(`${flood}; ${flood} >&2; echo $? >finished`, { timeout: "20 seconds" })
        assert.deepInclude(result, { exitCode: 0, stdoutTruncated: true, stderrTruncated: true, timedOut: false })
        assert.strictEqual(result.stdout, "x".repeat(64_000))
        assert.strictEqual(result.stderr, "x".repeat(64_000))
        assert.strictEqual(place.read("finished"), "0\n")
        assert.isBelow(process.memoryUsage().rss - before, 80_000_000)
      })
    )
  )

  it.live("the limit is a number of bytes, and leaves no half character", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const cut = yield* place.bash("printf 'aé'; printf abcd >&2", { maxOutputBytes: 2 })
        assert.deepInclude(cut, { stdout: "a", stdoutTruncated: true, stderr: "ab", stderrTruncated: true })
        const whole = yield* place.bash("printf 'aé'", { maxOutputBytes: 3 })
        assert.deepInclude(whole, { stdout: "aé", stdoutTruncated: false })
        const none = yield* place.bash("printf x", { maxOutputBytes: 0 })
        assert.deepInclude(none, { stdout: "", stdoutTruncated: true })
      })
    )
  )

  it.live("bytes that are no UTF-8 become replacement characters, and a mark at the start stays", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash(String.raw`printf 'a\xffb\xc3'; printf '\xef\xbb\xbfx' >&2`)
        assert.deepInclude(result, { stdout: "a\ufffdb\ufffd", stderr: "\ufeffx" })
      })
    )
  )

  it.live("stdin is written and closed, and without it the input is empty", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const text = "grüße\n".repeat(50_000)
        const result = yield* place.bash("cat", { stdin: text, maxOutputBytes: 1_000_000 })
        assert.isTrue(result.stdout === text)
        assert.strictEqual((yield* place.bash("cat")).stdout, "")
      })
    )
  )

  it.live("a bash that is given an input does not run the start-up file of a person", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        fs.writeFileSync(place.path(".bashrc"), "echo from the start-up file")
        const result = yield* place.bash("cat", { stdin: "input", env: { HOME: place.folder } })
        assert.strictEqual(result.stdout, "input")
      })
    )
  )

  it.live("a command that does not read its input is not failed for that", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const stdin = "x".repeat(5_000_000)
        assert.strictEqual((yield* place.bash("exit 0", { stdin })).exitCode, 0)
        assert.strictEqual((yield* place.bash("exec <&-; sleep 0.1", { stdin })).exitCode, 0)
      })
    )
  )

  it.live("the environment is scrubbed, and what is given is added", () =>
    inPlace(() =>
      Effect.gen(function* () {
        vi.stubEnv("QUIESCE_SECRET_TOKEN", "hunter2")
        vi.stubEnv("LC_ALL", "C.UTF-8")
        yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllEnvs()))
        const { PATH } = process.env
        const { stdout } = yield* Process.run({ command: "env", env: { OWN: "1", TERM: "dumb" } })
        const names = stdout.trim().split("\n")
        assert.includeMembers(names, ["OWN=1", "TERM=dumb", "LC_ALL=C.UTF-8", `PATH=${PATH}`])
        const known = /^(PATH|HOME|LANG|LC_\w+|TERM|TMPDIR|USER|SHELL|SHLVL|OWN)=/
        assert.deepStrictEqual(
          names.filter((line) => !known.test(line)),
          []
        )
      })
    )
  )
})
