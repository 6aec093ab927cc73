import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import { grace, inPlace, interrupt, type Place } from "../support/place.js"
import { alive, groupMembers, waitUntil } from "../support/processes.js"

/** A folder with a `PATH` in which there is no bash. */
const withoutBash = (place: Place): Readonly<Record<string, string>> => {
  const bin = place.path("bin")
  fs.mkdirSync(bin, { recursive: true })
  for (const name of ["sh", "sleep", "cat", "setsid", "sed"]) {
    const found = ["/bin", "/usr/bin"].map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file))
    if (found !== undefined && !fs.existsSync(path.join(bin, name))) fs.symlinkSync(found, path.join(bin, name))
  }
  return { PATH: bin }
}

const shells = [
  { shell: "bash", env: () => ({}) },
  { shell: "sh", env: withoutBash }
]

it.live("218: a shell that loses the line behind an interrupted command is ready within the grace all the same", () =>
  inPlace((place) =>
    Effect.gen(function* () {
      // Loses it as dash does where the interrupt comes while it reads, but each time.
      const losing = `#!/bin/bash
exec 7<&0
exec /bin/sh -i < <(trap "" INT; exec sed -u '/^__quiesce_end 1 /{x;s/^/x/;/^x$/{x;s/.*//;b};x}' <&7)`
      const { PATH: bin = "" } = withoutBash(place)
      fs.rmSync(path.join(bin, "sh"))
      fs.writeFileSync(path.join(bin, "sh"), losing, { mode: 0o755 })
      const session = yield* Process.openSession({ cwd: place.folder, grace, env: { PATH: bin } })
      const sending = yield* Effect.fork(session.send("echo >begun; sleep 60"))
      yield* waitUntil(() => fs.existsSync(place.path("begun")))
      yield* interrupt(sending)
      assert.deepInclude(yield* session.send("echo on"), { stdout: "on\n", exitCode: 0 })
    })
  )
)

describe.each(shells)("a session of $shell", ({ env, shell }) => {
  const open = (place: Place, options: Process.SessionOptions = {}) =>
    Process.openSession({ cwd: place.folder, grace, env: env(place), ...options })

  it.live("working directory, variables and functions live on, and each command has its own output and exit code", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        assert.deepStrictEqual(yield* session.send("cd /; x='it'\\''s'; f() { echo \"$x $1\"; }"), {
          stdout: "",
          stderr: "",
          stdoutTruncated: false,
          stderrTruncated: false,
          stdoutFile: undefined,
          stderrFile: undefined,
          exitCode: 0,
          timedOut: false,
          stoppedBy: undefined
        })
        assert.deepInclude(yield* session.send("f here; pwd; echo err >&2; (exit 7)"), {
          stdout: "it's here\n/\n",
          stderr: "err\n",
          exitCode: 7
        })
        assert.deepInclude(yield* session.send("printf 'no newline'"), {
          stdout: "no newline",
          stderr: "",
          exitCode: 0
        })
      })
    )
  )

  it.live("its name is that of the shell, its environment is scrubbed, and it has no start files and no history", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        fs.writeFileSync(place.path(".bashrc"), "echo read >$HOME/started\n")
        const session = yield* open(place, { env: { ...env(place), HOME: place.folder } })
        const { stdout } = yield* session.send('echo "$0 $QUIESCE_SECRET"; echo')
        assert.match(stdout, new RegExp(`^${shell} \\n`))
        yield* session.send("exit").pipe(Effect.flip)
        assert.isFalse(fs.existsSync(place.path("started")))
        assert.isFalse(fs.existsSync(place.path(".bash_history")))
      })
    )
  )

  it.live("a command of many lines, with quotes, a comment or a syntax error is one command", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        assert.deepInclude(
          yield* session.send("for i in 1 2; do\n  echo \"it's $i\" # why\ndone\ncat <<'X'\n$i !x\nX"),
          {
            stdout: "it's 1\nit's 2\n$i !x\n",
            stderr: "",
            exitCode: 0
          }
        )
        const wrong = yield* session.send("if then 'never closed")
        assert.notStrictEqual(wrong.exitCode, 0)
        assert.isNotEmpty(wrong.stderr)
        assert.deepInclude(yield* session.send("echo on"), { stdout: "on\n", stderr: "" })
      })
    )
  )

  it.live("a command reads an empty input, may redirect its shell's output, and cannot print the mark of its end", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        assert.deepInclude(yield* session.send("cat; echo read >&9"), { exitCode: shell === "sh" ? 2 : 1 })
        assert.deepInclude(yield* session.send("exec >log; echo hidden"), { stdout: "", exitCode: 0 })
        assert.deepInclude(yield* session.send("echo hidden"), { stdout: "", exitCode: 0 })
        assert.strictEqual(place.read("log"), "hidden\nhidden\n")
      })
    )
  )

  it.live("218: a command that is interrupted ends whole, the shell does not, and the next waits for that", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        yield* session.send("x=kept")
        const commands = [
          "echo $$ >begun; sleep 60; echo next >next",
          "for i in 1 2 3; do echo $i >begun; sleep 60; done; echo next >next",
          "echo >begun; while :; do :; done; echo next >next",
          "f() { echo >begun; while :; do :; done; }; f; echo next >next",
          "(echo >begun; while :; do :; done); echo next >next",
          "echo >begun; sleep 60 | cat; echo next >next"
        ]
        for (const command of commands) {
          fs.rmSync(place.path("begun"), { force: true })
          const sending = yield* Effect.fork(session.send(command))
          yield* place.written("begun")
          const next = yield* Effect.fork(session.send("echo $x"))
          yield* Effect.yieldNow()
          yield* interrupt(sending)
          assert.deepStrictEqual(groupMembers(session.pid), [session.pid], command)
          assert.deepInclude(yield* Fiber.join(next), { stdout: "kept\n", stderr: "", exitCode: 0 }, command)
          assert.strictEqual(place.read("next"), "", command)
        }
      })
    )
  )

  it.live("218: interrupted right at its start, it has not run or has been stopped, and the shell goes on", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        for (let i = 0; i < 40; i++) {
          const sending = yield* Effect.fork(session.send(`sleep 60; sleep 61`))
          for (let turn = 0; turn < i % 10; turn++) yield* i < 20 ? Effect.yieldNow() : Effect.sleep(0)
          yield* interrupt(sending)
          assert.deepInclude(yield* session.send(`echo ${i}`), { stdout: `${i}\n`, stderr: "", exitCode: 0 })
        }
        assert.deepStrictEqual(groupMembers(session.pid), [session.pid])
      })
    )
  )

  it.live("218: interrupted as it ends by itself, the shell goes on", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        for (let i = 0; i < 40; i++) {
          const sending = yield* Effect.fork(session.send("true"))
          yield* Effect.sleep(i % 8)
          yield* Fiber.interrupt(sending)
          assert.deepInclude(yield* session.send(`echo ${i}`), { stdout: `${i}\n`, stderr: "", exitCode: 0 })
        }
      })
    )
  )

  it.live("its timeout is a result: what it wrote, and what it took", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        const late = yield* session.send("echo begun; sleep 60; echo next", { timeout: "200 millis" })
        assert.deepInclude(late, { stdout: "begun\n", timedOut: true, stoppedBy: "SIGINT", exitCode: 130 })
        assert.deepInclude(yield* session.send("echo on", { timeout: "1 minute" }), {
          stdout: "on\n",
          timedOut: false,
          stoppedBy: undefined
        })
      })
    )
  )

  it.live("what ignores SIGINT is asked, and then killed; what ran before in the background is left alone", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        yield* session.send("sleep 60 & echo $! >before; true")
        const asked = yield* session.send(`sh -c 'trap "" INT; exec sleep 60'`, { timeout: "200 millis" })
        assert.deepInclude(asked, { timedOut: true, stoppedBy: "SIGTERM" })
        const killed = yield* session.send(`sh -c 'trap "" INT TERM; exec sleep 60'`, { timeout: "200 millis" })
        assert.deepInclude(killed, { timedOut: true, stoppedBy: "SIGKILL" })
        assert.isTrue(alive(place.pid("before")))
        assert.strictEqual((yield* session.status)._tag, "Running")
        assert.deepInclude(yield* session.send("echo on"), { stdout: "on\n" })
      })
    )
  )

  it.live("a loop whose children end by themselves on SIGINT is interrupted child by child", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place, { grace: "10 seconds" })
        const polite = `sh -c 'trap "exit 3" INT; echo >>rounds; while :; do sleep 0.02; done'`
        const start = performance.now()
        const result = yield* session.send(`${polite}; ${polite}; sleep 60; echo next`, { timeout: "300 millis" })
        assert.deepInclude(result, { stdout: "", timedOut: true, stoppedBy: "SIGINT" })
        assert.isBelow(performance.now() - start, 5000)
      })
    )
  )

  it.live("a shell that cannot be stopped otherwise is ended, whole, and the result says so", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        const result = yield* session.send(`trap "" INT; sleep 60 & echo $! >child; while :; do :; done`, {
          timeout: "200 millis"
        })
        assert.deepInclude(result, { timedOut: true, stoppedBy: "session", exitCode: undefined })
        assert.deepStrictEqual(groupMembers(session.pid), [])
        assert.strictEqual((yield* session.status)._tag, "Ended")
        assert.strictEqual((yield* Effect.flip(session.send("true"))).code, "PROCESS_SESSION_ENDED")
      })
    )
  )

  it.live("when the shell ends, the command that runs and those that wait fail with what happened", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        const waiting = yield* Effect.fork(Effect.flip(session.send("true")))
        const last = yield* Effect.fork(Effect.flip(session.send("exit 5")))
        assert.isTrue(Fiber.isFiber(waiting))
        const error = yield* Fiber.join(last)
        assert.deepInclude(error, { reason: "SessionEnded", command: shell, detail: "its shell exited with 5" })
        assert.deepStrictEqual(groupMembers(session.pid), [])
        const killed = yield* open(place, { env: {} })
        const dying = yield* Effect.flip(killed.send("kill -KILL $$"))
        assert.deepInclude(dying, { reason: "SessionEnded", detail: "SIGKILL ended it" })
        yield* Fiber.interrupt(waiting)
      })
    )
  )

  it.live("close ends the whole tree, also while a command runs, and again it is the same", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        const sending = yield* Effect.fork(Effect.flip(session.send("sleep 60 & echo >begun; sleep 60")))
        yield* place.written("begun")
        const [first, second] = yield* Effect.all([session.close, session.close], { concurrency: "unbounded" })
        assert.strictEqual(first, second)
        assert.deepStrictEqual(groupMembers(session.pid), [])
        assert.strictEqual((yield* Fiber.join(sending)).code, "PROCESS_SESSION_ENDED")
        assert.deepInclude(yield* session.status, { _tag: "Ended", ending: first })
      })
    )
  )

  it.live("one that waits for commands closes at once", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place, { grace: "10 seconds" })
        const start = performance.now()
        yield* session.close
        assert.isBelow(performance.now() - start, 5000)
      })
    )
  )

  it.live("a shell that does not come to reading a command that is cancelled is ended", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place)
        yield* session.send("sh -c 'sleep 0.1; kill -STOP $PPID; echo >stopped' >/dev/null 2>&1 &")
        yield* place.written("stopped")
        const sending = yield* Effect.fork(session.send("echo >next"))
        yield* Effect.yieldNow()
        yield* interrupt(sending)
        assert.deepStrictEqual(groupMembers(session.pid), [])
        assert.strictEqual(place.read("next"), "")
      })
    )
  )

  it.live("output is kept up to the limit, a flood is read to its end", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* open(place, { maxOutputBytes: 1000 })
        const flood = yield* session.send(
          "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo err >&2"
        )
        assert.deepInclude(flood, { stdoutTruncated: true, stderrTruncated: false, stderr: "err\n", exitCode: 0 })
        assert.strictEqual(flood.stdout, "0123456789\n".repeat(100).slice(0, 1000))
        assert.deepInclude(yield* session.send("echo on"), { stdout: "on\n", stdoutTruncated: false })
      })
    )
  )
})

describe("a session", () => {
  it.live("belongs to the layer and not to the owner that opened it", () =>
    inPlace(() =>
      Effect.gen(function* () {
        const service = yield* Process.Process
        const session = yield* Cancellation.own(service.openSession({ grace }))
        assert.deepInclude(yield* session.send("echo on"), { stdout: "on\n" })
        assert.deepStrictEqual(yield* session.status, { _tag: "Running" })
      })
    )
  )

  it.live("opened by a caller that is cancelled meanwhile, it is gone when that is answered", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const seen = new Set<boolean>()
        for (let turns = 0; turns < 40; turns += 2) {
          const opening = yield* Effect.fork(Process.openSession({ env: { MARK: place.folder }, grace }))
          yield* Effect.sleep(turns)
          const exit = yield* Fiber.interrupt(opening)
          seen.add(Exit.isSuccess(exit))
          if (Exit.isSuccess(exit)) yield* exit.value.close
        }
        yield* waitUntil(() => process.getActiveResourcesInfo().every((name) => name !== "ProcessWrap"))
        assert.isTrue(seen.has(false))
      })
    )
  )

  it.live("marker: a command that leaves the session's group is ended with it", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const session = yield* Process.openSession({ cwd: place.folder, grace, containment: "marker" })
        yield* session.send("setsid sh -c 'echo $$ >away; exec sleep 60' & until [ -s away ]; do sleep 0.01; done")
        assert.isTrue(alive(place.pid("away")))
        assert.deepStrictEqual((yield* session.close).escaped, [])
        assert.isFalse(alive(place.pid("away")))
      })
    )
  )

  it.live("what cannot be sent or opened is refused before anything happens", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const missing = yield* Effect.flip(Process.openSession({ cwd: place.path("missing") }))
        assert.strictEqual(missing.code, "PROCESS_BAD_WORKING_DIRECTORY")
        const session = yield* Process.openSession({ grace })
        assert.strictEqual((yield* Effect.flip(session.send("true", { timeout: 0 }))).code, "PROCESS_INVALID_OPTIONS")
        assert.strictEqual((yield* Effect.flip(session.send("echo \0"))).code, "PROCESS_INVALID_OPTIONS")
        const exit = yield* Effect.exit(Cancellation.ownSignal(session.send("true"), AbortSignal.abort()))
        assert.isTrue(Exit.isInterrupted(exit))
        assert.isFalse(yield* Effect.map(session.status, ({ _tag }) => _tag === "Ended"))
      })
    )
  )

  it.live("a shell that ends before it is ready is a failure", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const bin = place.path("bin")
        fs.mkdirSync(bin)
        fs.writeFileSync(path.join(bin, "bash"), "#!/bin/sh\nexit 1\n", { mode: 0o755 })
        const error = yield* Effect.flip(Process.openSession({ env: { PATH: bin } }))
        assert.deepInclude(error, { reason: "SpawnFailed", command: "bash", detail: "it ended before it was ready" })
      })
    )
  )
})
