// Cancels real processes at instants that are spread over their start and their life, and looks from outside at who is
// alive: whoever was started carries a variable in its environment. After ours, and after the platform's `Command`.
//
//   npm run soak -- processes        SOAK_COUNT=2000 npm run soak -- processes
import * as fs from "node:fs"
import { Command } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { Effect, Fiber } from "effect"
import { Cancellation } from "quiesce"
import { Process } from "quiesce/capability"
import { NodeProcess } from "quiesce/node"

const count = Number(process.env.SOAK_COUNT ?? 10_000)
const atOnce = 8
const variable = `QUIESCE_SOAK=${process.pid}`
const env = { QUIESCE_SOAK: String(process.pid) }

const read = (file) => {
  try {
    return fs.readFileSync(file, "latin1")
  } catch {
    return ""
  }
}
const alive = () =>
  fs.readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || !read(`/proc/${pid}/environ`).split("\0").includes(variable)) return false
    return /^[^ZXx]/.test(read(`/proc/${pid}/stat`).split(") ").at(-1) ?? "X")
  })
const handles = () => process.getActiveResourcesInfo().filter((name) => /Pipe|Process|Timeout/.test(name)).length
const end = (pid) => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended meanwhile.
  }
}
const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis))
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]

const deaf = `(trap "" TERM; while :; do sleep 0.02; done)`
const kinds = [
  { script: "exec sleep 600", containment: "group" },
  { script: "sleep 600 & sleep 600 & wait", containment: "group" },
  { script: "sleep 600 & exit 0", containment: "group" },
  { script: `${deaf} & wait`, containment: "group" },
  { script: "setsid sleep 600 & wait", containment: "marker" }
]

const ours = ({ script, containment }) =>
  Cancellation.own(Process.run({ command: "bash", args: ["-c", script], env, containment, grace: "100 millis" }))
const platform = ({ script }) => Effect.scoped(Command.exitCode(Command.env(Command.make("bash", "-c", script), env)))

/** How long a shell takes here to start what it is told to, so that cancels fall before, into and behind that. */
const span = async () => {
  const startedAt = performance.now()
  for (let i = 0; i < 5; i++) {
    await Effect.runPromise(
      Effect.provide(
        Cancellation.own(Process.run({ command: "bash", args: ["-c", "sleep 0 & sleep 0 & wait"], env })),
        NodeProcess.layer
      )
    )
  }
  return (performance.now() - startedAt) / 5
}

/** Cancels `total` commands, the nth some while after its start, and counts who is alive after each round. */
const soak = async (total, run, context) => {
  const seen = { orphans: 0, failed: 0 }
  const waits = []
  let done = 0
  const before = handles()
  const millis = 2 * (await span())
  await Effect.runPromise(
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      while (done < total) {
        const round = Array.from({ length: Math.min(atOnce, total - done) }, (_, i) => done + i)
        yield* Effect.promise(() =>
          Promise.all(
            round.map(async (n) => {
              const fiber = Effect.runFork(Effect.provide(run(kinds[n % kinds.length]), runtime))
              await pause((((n * 7) % 41) / 40) * millis)
              const askedAt = performance.now()
              const exit = await Effect.runPromise(Fiber.interrupt(fiber))
              waits.push(performance.now() - askedAt)
              if (exit._tag === "Failure" && exit.cause._tag === "Fail") seen.failed++
            })
          )
        )
        done += round.length
        const left = alive()
        seen.orphans += left.length
        for (const pid of left) end(Number(pid))
        if (done % 1000 === 0 && process.stderr.isTTY) process.stderr.write(`\r${done}`)
      }
    }).pipe(Effect.provide(context))
  )
  await pause(500)
  waits.sort((a, b) => a - b)
  return { ...seen, handles: Math.max(0, handles() - before), waits }
}

const row = (name, total, { failed, handles, orphans, waits }) =>
  console.log(
    `${name.padEnd(24)} ${String(total).padStart(6)} cancelled  ${String(orphans).padStart(5)} orphans  ${handles} handles  ${failed} failed` +
      `  answered in ${quantile(waits, 0.5).toFixed(0)} ms (p50), ${quantile(waits, 0.99).toFixed(0)} ms (p99), ${waits.at(-1).toFixed(0)} ms (max)`
  )

const found = await soak(count, ours, NodeProcess.layer)
row("Process.run", count, found)
// Not what ignores SIGTERM: the platform would wait for its leader for ever.
const others = Math.min(500, count)
row("Command of the platform", others, await soak(others, platform, NodeContext.layer))
if (found.orphans + found.handles + found.failed > 0) process.exitCode = 1
