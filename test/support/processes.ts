// Looks at processes from outside, through the process table, without the code that is tested.
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { Clock, Effect } from "effect"

export interface Running {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly args: string
}

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const fromProc = (pid: string): ReadonlyArray<Running> => {
  const [state = "", parent = "", group = ""] = (read(`/proc/${pid}/stat`).split(") ").at(-1) ?? "").split(" ")
  if (!/^[^ZXx]$/.test(state)) return []
  const args = read(`/proc/${pid}/cmdline`).replaceAll("\0", " ")
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), args }]
}

const fromPs = (line: string): ReadonlyArray<Running> => {
  const [, pid, parent, group, args = ""] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+[^Z\s]\S*\s+(.*)$/.exec(line) ?? []
  return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), group: Number(group), args }]
}

/** Every process that runs. A zombie does not run. */
export const running = (): ReadonlyArray<Running> =>
  fs.existsSync("/proc/self/stat")
    ? fs.readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? fromProc(name) : []))
    : execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,args="], { encoding: "utf8" }).split("\n").flatMap(fromPs)

export const alive = (pid: number): boolean => running().some((process) => process.pid === pid)

export const groupMembers = (pgid: number): ReadonlyArray<number> =>
  running().flatMap(({ group, pid }) => (group === pgid ? [pid] : []))

/** Those that have `text` in their command line. */
export const withArgument = (text: string): ReadonlyArray<number> =>
  running().flatMap(({ args, pid }) => (args.includes(text) ? [pid] : []))

/** The children of this program that have `text` in their command line. */
export const childrenWithArgument = (text: string): ReadonlyArray<number> =>
  running().flatMap(({ args, parent, pid }) => (parent === process.pid && args.includes(text) ? [pid] : []))

/** Those that have `text` in their environment. Linux only. */
export const withVariable = (text: string): ReadonlyArray<number> =>
  running().flatMap(({ pid }) => (read(`/proc/${pid}/environ`).split("\0").includes(text) ? [pid] : []))

/** Waits, on the live clock, until `condition` holds; dies when it does not within `limit` milliseconds. */
export const waitUntil = (condition: () => boolean, limit = 30_000): Effect.Effect<void> =>
  Effect.sync(() => performance.now()).pipe(
    Effect.flatMap((start) => {
      const wait: Effect.Effect<void> = Effect.suspend(() => {
        if (condition()) return Effect.void
        if (performance.now() - start > limit) return Effect.dieMessage(`not within ${limit} ms: ${condition}`)
        return Effect.zipRight(Effect.sleep("5 millis"), wait)
      })
      return wait
    }),
    Effect.withClock(Clock.make())
  )
