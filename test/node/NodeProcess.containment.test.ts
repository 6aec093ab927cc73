import * as fs from "node:fs"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { grace, inPlace, interrupt, type Place, recorded, withoutProc } from "../support/place.js"
import { alive, groupMembers } from "../support/processes.js"

const containment = "marker"

/** Runs `script` in a session of its own, without our pipes. It writes its pid to the file `away`. */
const away = (script: string, prefix = "setsid"): string =>
  `${prefix} bash -c 'echo $$ >away; ${script}' "$0" >/dev/null 2>&1 & until [ -s away ]; do sleep 0.01; done`
const sleeps = `exec -a "$0" sleep 60`
const deaf = `trap "" TERM; while :; do sleep 0.02; done`

/** Starts, waits until `names` are written, interrupts, and says how long that took. */
const stopped = (place: Place, script: string, options: Partial<Process.RunOptions>, ...names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(place.bash(script, { grace, ...options }))
    yield* place.written(...names)
    return yield* interrupt(fiber)
  })

describe("containment", () => {
  it.live("group: a grandchild in a session of its own is named on a stop, and lives", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        yield* stopped(place, `${away(sleeps)}; echo $$ >leader; sleep 60`, {}, "leader")
        assert.match(
          (yield* recorded).join(),
          new RegExp(`^process ${place.pid("away")} .* has left the process group`)
        )
        assert.isTrue(alive(place.pid("away")))
      })
    )
  )

  it.live("marker: on a stop it is ended too, and nothing has escaped", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const took = yield* stopped(
          place,
          `${away(sleeps)}; echo $$ >leader; sleep 60`,
          { containment, grace: "10 seconds" },
          "leader"
        )
        assert.isFalse(alive(place.pid("away")))
        assert.deepStrictEqual(groupMembers(place.pid("leader")), [])
        assert.deepStrictEqual(yield* recorded, [])
        assert.isBelow(took, 5000) // it was asked, not only killed
      })
    )
  )

  it.live("marker: after a natural end it is ended too", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const result = yield* place.bash(`${away(sleeps)}; exit 3`, { containment })
        assert.deepInclude(result, { exitCode: 3, signal: undefined, escaped: [] })
        assert.isFalse(alive(place.pid("away")))
      })
    )
  )

  it.live("marker: one that ignores SIGTERM is killed when the grace is over", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const took = yield* stopped(place, `${away(deaf)}; echo $$ >leader; sleep 60`, { containment }, "leader")
        assert.isFalse(alive(place.pid("away")))
        assert.isAtLeast(took, 245)
      })
    )
  )

  it.live("marker: one that cleans up within its grace has done so, and is asked once", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const tidy = `trap "echo asked >>asked; sleep 0.2; echo tidy >cleaned; exit" TERM; while :; do sleep 0.02; done`
        yield* stopped(
          place,
          `${away(tidy)}; echo $$ >leader; sleep 60`,
          { containment, grace: "10 seconds" },
          "leader"
        )
        assert.strictEqual(place.read("cleaned"), "tidy\n")
        assert.strictEqual(place.read("asked"), "asked\n")
      })
    )
  )

  it.live("marker: what an escaped one starts while it is asked to end is ended too", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        // The one that was asked writes the pid of what it starts, and only then ends. That one runs until it is told to end.
        const hydra = `trap 'setsid bash -c "while :; do sleep 0.02; done" "$PWD" & echo $! >head; exit' TERM
while :; do sleep 0.02; done`
        fs.writeFileSync(place.path("hydra.sh"), hydra)
        yield* stopped(
          place,
          `${away("exec bash hydra.sh")}; echo $$ >leader; sleep 60`,
          { containment, grace: "10 seconds" },
          "leader"
        )
        assert.isAbove(place.pid("head"), 1)
        assert.isFalse(alive(place.pid("away")))
        assert.isFalse(alive(place.pid("head")))
      })
    )
  )

  it.live("marker: one that leaves the group because it was asked to end is not asked again, and is waited for", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const tidy = `trap "echo asked >>asked" TERM; for i in {1..20}; do sleep 0.02; done; echo tidy >cleaned`
        fs.writeFileSync(place.path("tidy.sh"), tidy)
        const child = `bash -c 'trap "exec setsid bash tidy.sh" TERM; echo $$ >child; while :; do sleep 0.02; done' & wait`
        yield* stopped(place, child, { containment, grace: "10 seconds" }, "child")
        assert.strictEqual(place.read("cleaned"), "tidy\n")
        assert.strictEqual(place.read("asked"), "")
      })
    )
  )

  it.live("marker: another marked command is left alone", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const first = yield* Effect.fork(place.bash(`${away(sleeps)}; echo $$ >leader; sleep 60`, { containment }))
        yield* place.written("leader")
        // Younger than the first: the older are not even looked at.
        const other = yield* Effect.fork(place.bash(`echo $$ >other; ${sleeps}`, { containment }))
        yield* place.written("other")
        yield* interrupt(first)
        assert.isFalse(alive(place.pid("away")))
        assert.isTrue(alive(place.pid("other")))
        yield* interrupt(other)
      })
    )
  )

  it.live("marker: one that has cleared its environment is named, not ended", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const clean = away(sleeps, `env -i "PATH=$PATH" setsid`)
        yield* stopped(place, `${clean}; echo $$ >leader; sleep 60`, { containment }, "leader")
        assert.deepStrictEqual(yield* recorded, [
          `process ${place.pid("away")} (sleep), which has left the process group ${place.pid("leader")} and does not carry its mark`
        ])
        assert.isTrue(alive(place.pid("away")))
      })
    )
  )

  it.live("marker: what survives SIGKILL is named, not waited for", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const { kill } = process
        const spy = vi
          .spyOn(process, "kill")
          .mockImplementation((pid, signal) => (signal === "SIGKILL" && pid > 0) || kill(pid, signal))
        yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
        const alone = away(`trap "" TERM; ${sleeps}`)
        yield* stopped(place, `${alone}; echo $$ >leader; sleep 60`, { containment, grace: "50 millis" }, "leader")
        assert.deepStrictEqual(yield* recorded, [`process ${place.pid("away")} (sleep), which has survived SIGKILL`])
      })
    )
  )

  it.live("marker: a command that leaves nothing behind gets no signal at all", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const kill = vi.spyOn(process, "kill")
        yield* Effect.addFinalizer(() => Effect.sync(() => kill.mockRestore()))
        const result = yield* place.bash("echo done", { containment })
        assert.deepInclude(result, { exitCode: 0, stdout: "done\n", escaped: [] })
        assert.deepStrictEqual(
          kill.mock.calls.filter(([, signal]) => signal !== 0),
          []
        )
      })
    )
  )

  it.live("marker: killAll reaches who has left the group", () =>
    inPlace((place) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(
          place.bash(`${away(deaf)}; trap "" TERM; echo $$ >leader; while :; do sleep 0.02; done`, { containment })
        )
        yield* place.written("leader")
        assert.strictEqual(NodeProcess.killAll(), 1)
        assert.strictEqual((yield* Fiber.join(fiber)).signal, "SIGKILL")
        assert.isFalse(alive(place.pid("away")))
      })
    )
  )

  it.live("the mark is another one for each command, and the marks of programs around this one stay", () =>
    inPlace(() =>
      Effect.gen(function* () {
        vi.stubEnv("QUIESCE_TREE", "outer")
        yield* Effect.addFinalizer(() => Effect.sync(() => vi.unstubAllEnvs()))
        const print = { command: "bash", args: ["-c", 'echo "$QUIESCE_TREE"'] }
        const first = yield* Process.run({ ...print, containment })
        const second = yield* Process.run({ ...print, containment })
        assert.match(first.stdout, /^outer:[0-9a-f]{32}\n$/)
        assert.match(second.stdout, /^outer:[0-9a-f]{32}\n$/)
        assert.notStrictEqual(first.stdout, second.stdout)
        assert.strictEqual((yield* Process.run(print)).stdout, "outer\n")
        vi.stubEnv("QUIESCE_TREE", "")
        assert.strictEqual((yield* Process.run(print)).stdout, "\n")
      })
    )
  )

  it.live("marker: without /proc it is refused, and the message says what to use", () =>
    inPlace(() =>
      Effect.gen(function* () {
        yield* withoutProc
        const error = yield* Effect.flip(Process.run({ command: "true", containment }))
        assert.strictEqual(error.code, "PROCESS_PLATFORM_NOT_SUPPORTED")
        assert.match(error.message, /\(containment "marker" needs \/proc\).* use Linux$/)
      })
    )
  )
})
