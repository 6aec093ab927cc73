/**
 * The program of the process that runs the code. Its argument is the id of the process that has started it.
 *
 * It reads lines of JSON from its input, the job first and then answers, and writes such lines. Writing blocks, so what
 * the code has logged before it begins an endless loop is out. It ends itself when the code has settled, when nothing can
 * happen any more, and when who started it is gone: a thread of its own looks for that, since the code may never give way.
 *
 * What leaves the realm of the code in spite of `inside` meets a realm without `process`, `require` and code from
 * strings. That is one more wall, and no boundary.
 *
 * @internal
 */
export const bootstrap = String.raw`
"use strict"
const { writeSync } = require("node:fs")
const { Worker } = require("node:worker_threads")
const { createContext, Script } = require("node:vm")
const { Buffer, process } = globalThis
const { byteLength } = Buffer
const { stdin } = process

new Worker(
  "setInterval(() => process.ppid === " + Number(process.argv[1]) + " || process.kill(process.pid, 'SIGKILL'), 250)",
  { eval: true, stdout: true, stderr: true }
).unref()

const write = (...message) => {
  const bytes = Buffer.from(JSON.stringify(message) + "\n")
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}
const end = (...message) => {
  write(...message)
  process.exit(0)
}

const run = ({ code, inside, maxCalls, maxLogBytes, maxOutputBytes, names }) => {
  let logBytes = 0
  const log = (level, text) => {
    if (logBytes > maxLogBytes) return
    const room = maxLogBytes - logBytes
    let part = text.slice(0, room)
    if (byteLength(part) > room) part = Buffer.from(part).subarray(0, room).toString().replace(/\uFFFD+$/, "")
    if (part !== "" || text === "") write("log", level, part)
    logBytes += byteLength(text) + 1
    if (logBytes > maxLogBytes) write("truncated")
  }

  // A flood of calls waits here, where it counts as the memory of the code.
  let calls = 0
  let unanswered = 0
  const waiting = new Set()
  const send = (message) => {
    unanswered++
    stdin.ref()
    write("call", ...message)
  }
  const call = (name, text) => {
    const id = ++calls
    if (unanswered < maxCalls) send([id, name, text])
    else waiting.add([id, name, text])
    return id
  }

  const done = (text) => (byteLength(text) > maxOutputBytes ? end("failed", "OutputLimit", "", "") : end("done", text))
  const failed = (reason, detail, stack) => end("failed", reason, detail, stack)

  const context = createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } })
  const makeInside = new Script(inside, { filename: "inside.js" }).runInContext(context)
  const [start, answer, uncaught] = makeInside(log, call, done, failed, names, maxOutputBytes)
  let script
  try {
    script = new Script("(async () => {" + code + "\n})", { filename: "code.js" })
  } catch (error) {
    return failed("Syntax", error.name + ": " + error.message, String(error.stack))
  }

  process.on("unhandledRejection", uncaught)
  process.on("uncaughtException", uncaught)
  const intrinsics = new Set(new Script("Reflect.ownKeys(globalThis)").runInContext(createContext()))
  for (const name of Reflect.ownKeys(globalThis)) if (!intrinsics.has(name)) delete globalThis[name]
  for (const f of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    Object.defineProperty(Object.getPrototypeOf(f), "constructor", { value: undefined })
  }

  let main
  try {
    main = script.runInContext(context)
  } catch (error) {
    uncaught(error)
    return failed("Exception", "it left its function, and threw there", "")
  }
  start(main)

  return ([id, isValue, text]) => {
    unanswered--
    for (const message of waiting) {
      waiting.delete(message)
      send(message)
      break
    }
    if (unanswered === 0) stdin.unref()
    answer(id, isValue, text)
  }
}

let text = ""
let answered
stdin.setEncoding("utf8")
stdin.on("data", (chunk) => {
  const lines = (text + chunk).split("\n")
  text = lines.pop()
  for (const line of lines) {
    if (answered === undefined) {
      stdin.unref()
      answered = run(JSON.parse(line))
    } else answered(JSON.parse(line))
  }
})
stdin.on("end", () => process.exit(0))
`
