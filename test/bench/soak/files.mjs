// Interrupts writes over a file at instants that are spread over what a write takes, and looks from outside at what is
// there: after our write, and after the platform's.
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { FileSystem as PlatformFileSystem } from "@effect/platform"
import { NodeFileSystem as PlatformFiles } from "@effect/platform-node"
import { Effect, Fiber } from "effect"
import { Cancellation } from "quiesce"
import { FileSystem } from "quiesce/capability"
import { NodeFileSystem } from "quiesce/node"

const writes = 1000
const size = 4 * 1024 * 1024
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-soak-"))
const file = path.join(folder, "file")

const openFiles = () =>
  fs.existsSync("/proc/self/fd")
    ? fs.readdirSync("/proc/self/fd").filter((descriptor) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folder)
        } catch {
          return false
        }
      }).length
    : 0

/** The letter that a whole file consists of, or nothing where it is torn. */
const letterOf = (bytes) => {
  const [first] = bytes
  return bytes.length === size && bytes.every((byte) => byte === first) ? String.fromCharCode(first) : undefined
}

const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis))
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]

/** Interrupts `count` writes, the nth after a share of what an undisturbed one takes. */
const soak = async (count, write, context) => {
  const seen = { torn: 0, temporary: 0, open: 0, unchanged: 0, written: 0 }
  const waits = []
  let letter = "a"
  fs.writeFileSync(file, letter.repeat(size))
  const startedAt = performance.now()
  await Effect.runPromise(Effect.provide(write("b".repeat(size)), context))
  const whole = performance.now() - startedAt
  letter = "b"
  for (let n = 0; n < count; n++) {
    const next = String.fromCharCode(97 + ((letter.charCodeAt(0) - 96) % 26))
    const fiber = Effect.runFork(Effect.provide(write(next.repeat(size)), context))
    await pause(((n % 50) / 50) * whole * 1.2)
    const askedAt = performance.now()
    await Effect.runPromise(Fiber.interrupt(fiber))
    waits.push(performance.now() - askedAt)
    const found = letterOf(fs.readFileSync(file))
    if (found === undefined) seen.torn++
    else if (found === next) seen.written++
    else seen.unchanged++
    letter = found ?? letter
    seen.temporary += fs.readdirSync(folder).length - 1
    seen.open += openFiles()
    if (found === undefined) {
      await pause(whole * 2) // it goes on behind the back of everybody
      fs.writeFileSync(file, letter.repeat(size))
    }
  }
  waits.sort((a, b) => a - b)
  const [p50, p99, max] = [0.5, 0.99, 1].map((q) => quantile(waits, q).toFixed(1))
  return { ...seen, p50, p99, max }
}

const ours = NodeFileSystem.layer({ root: folder })
const row = (name, count, { max, open, p50, p99, temporary, torn, unchanged, written }) =>
  console.log(
    `| ${name} | ${count} | ${unchanged} | ${written} | ${torn} | ${temporary} | ${open} | ${p50} / ${p99} / ${max} |`
  )

try {
  console.log(
    "| write | interrupted | as before | written | torn | temporary files left | files left open | ms to quiet, p50 / p99 / max |"
  )
  console.log("| --- | --- | --- | --- | --- | --- | --- | --- |")
  const write = (text) => Cancellation.own(FileSystem.writeText("file", text))
  const result = await soak(writes, write, ours)
  row("`FileSystem.writeText`", writes, result)
  const floor = (text) => Effect.flatMap(PlatformFileSystem.FileSystem, (files) => files.writeFileString(file, text))
  row("`writeFileString` of the platform", writes / 10, await soak(writes / 10, floor, PlatformFiles.layer))
  if (result.torn + result.temporary + result.open > 0 || result.written === 0 || result.unchanged === 0) {
    process.exitCode = 1
  }
} finally {
  fs.rmSync(folder, { recursive: true })
}
