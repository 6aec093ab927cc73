/** Real processes for one test: what was started is found again by the name of the test's folder, and ended with it. */
import nodeFs, * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { assert, vi } from "@effect/vitest"
import { type Duration, Effect, Exit, Fiber, type Scope } from "effect"
import { Cancellation } from "quiesce"
import * as Process from "quiesce/capability/Process"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { waitUntil, withArgument } from "./processes.js"

/** A folder for one test. Its name is in the arguments of what the test starts, which finds it again. */
export class Place {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-process-"))

  /** Runs a bash script. `$0` is the folder. */
  bash(script: string, options: Partial<Process.RunOptions> = {}) {
    return Process.run({ command: "bash", args: ["-c", script, this.folder], cwd: this.folder, ...options })
  }
  path(name: string): string {
    return path.join(this.folder, name)
  }
  read(name: string): string {
    return fs.existsSync(this.path(name)) ? fs.readFileSync(this.path(name), "utf8") : ""
  }
  write(name: string): void {
    fs.writeFileSync(this.path(name), "")
  }
  size(file: string | undefined): number {
    return file === undefined ? 0 : fs.statSync(file).size
  }
  pid(name: string): number {
    return Number(this.read(name))
  }
  written(...names: ReadonlyArray<string>): Effect.Effect<void> {
    return waitUntil(() => names.every((name) => this.read(name).endsWith("\n")))
  }
  get running(): ReadonlyArray<number> {
    return withArgument(this.folder)
  }
  close(): void {
    for (const pid of this.running) process.kill(pid, "SIGKILL")
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

export const inPlace = <A, E>(
  body: (place: Place) => Effect.Effect<A, E, Process.Process | Scope.Scope | Cancellation.Cancellation>
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Place()),
    (place) => Effect.scoped(Cancellation.own(body(place))),
    (place) => Effect.sync(() => place.close())
  ).pipe(Effect.provide(NodeProcess.layer))

/** Interrupts, and says how many milliseconds it took. */
export const interrupt = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const start = performance.now()
    const exit = yield* Fiber.interrupt(fiber)
    assert.isTrue(Exit.isInterrupted(exit))
    return performance.now() - start
  })

/** What `Cancellation.recordEscape` told the owner in context. Not public: a call's result shows it. */
export const recorded = Effect.map(
  Cancellation.Cancellation,
  (owner) => (owner as unknown as { readonly escaped: ReadonlyArray<string> }).escaped
)

export const sleeper = `(exec -a "$0" sleep 60)`
export const stubborn = `(trap "" TERM; echo $BASHPID >child; while :; do sleep 0.02; done)`
export const leftover = `(echo $BASHPID >child; exec -a "$0" sleep 60 >/dev/null 2>&1) & until [ -s child ]; do sleep 0.01; done`
export const grace: Duration.DurationInput = "250 millis"

/** As on a system that has no /proc. */
export const withoutProc = Effect.acquireRelease(
  Effect.sync(() => {
    const hide = (name: "readFileSync" | "readdirSync" | "readlinkSync") => {
      const read = nodeFs[name] as (file: unknown, ...rest: ReadonlyArray<unknown>) => unknown
      return vi.spyOn(nodeFs as Record<typeof name, typeof read>, name).mockImplementation((file, ...rest) => {
        if (String(file).startsWith("/proc")) throw new Error("there is no /proc")
        return read(file, ...rest)
      })
    }
    const hidden = [hide("readFileSync"), hide("readdirSync"), hide("readlinkSync")]
    syncBuiltinESMExports()
    return () => {
      for (const spy of hidden) spy.mockRestore()
      syncBuiltinESMExports()
    }
  }),
  (restore) => Effect.sync(restore)
)
