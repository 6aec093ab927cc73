import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { build } from "../support/built.js"
import { runHere, withEnvironment } from "../support/cli.js"
import { makeFolder } from "../support/folder.js"
import { delta, type Exchange, frame, modelServer, sse } from "../support/modelServer.js"
import { waitUntil } from "../support/processes.js"

vi.setConfig({ testTimeout: 60_000 })

beforeAll(build, 120_000)

const main = path.resolve("dist/cli/main.js")

// A terminal of the system's own, from the package that has `script`. Its options are those of Linux.
const hasTerminal = process.platform === "linux" && fs.existsSync("/usr/bin/script")

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The command in a terminal, with the keys of a person. */
class Session {
  private readonly child
  screen = ""
  code: number | null | undefined
  private seen = 0

  constructor(folder: string, args: ReadonlyArray<string>) {
    const command = [process.execPath, main, ...args].map(quoted).join(" ")
    this.child = spawn("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
      cwd: folder,
      env: { ...process.env, TERM: "xterm", TMPDIR: folder },
      stdio: ["pipe", "pipe", "inherit"]
    })
    this.child.stdout.on("data", (text) => {
      this.screen += text
    })
    this.child.once("close", (code) => {
      this.code = code
    })
  }

  type(keys: string): void {
    this.child.stdin.write(keys)
  }

  /** Waits for a text behind the one that was waited for before. */
  shows(text: string): Effect.Effect<void> {
    return Effect.map(
      waitUntil(() => this.screen.indexOf(text, this.seen) !== -1 || this.code !== undefined, 20_000),
      () => {
        const at = this.screen.indexOf(text, this.seen)
        assert.isAtLeast(at, 0, `"${text}" was not shown:\n${this.screen.slice(this.seen)}`)
        this.seen = at + text.length
      }
    )
  }

  get ended(): Effect.Effect<number | null | undefined> {
    return Effect.map(
      waitUntil(() => this.code !== undefined, 20_000),
      () => this.code
    )
  }
}

const ctrlC = "\x03"

const writePlan = (
  steps: ReadonlyArray<unknown>
): Effect.Effect<{ readonly folder: string; readonly file: string }, never, Scope.Scope> =>
  Effect.map(makeFolder, (folder) => {
    const file = path.join(folder, "plan.json")
    fs.writeFileSync(file, JSON.stringify({ steps }))
    return { folder, file }
  })

const bash = (id: string, script: string, more: object = {}) => ({
  id,
  tool: "run_command",
  parameters: { command: "bash", args: ["-c", script] },
  ...more
})

const eventsIn = (file: string): ReadonlyArray<any> =>
  fs
    .readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).event)

const bodies = (events: ReadonlyArray<any>, tag: string) => events.filter(({ _tag }) => _tag === tag)

describe.skipIf(!hasTerminal)("a conversation in a terminal", () => {
  it.scopedLive("approve, steer, Ctrl-C during a tool, a second prompt, and Ctrl-C twice, which leaves with 130", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([
        {
          text: "I wait for the file.",
          calls: [
            bash("wait", "touch started; until [ -e go ]; do sleep 0.05; done", { ask: "it waits" }),
            bash("never", "touch never", { ask: "it touches" })
          ]
        },
        { text: "I have waited." },
        { text: "Now for long.", calls: [bash("long", "touch long; sleep 600")] },
        { text: "Here again." },
        { text: "Once more.", calls: [bash("last", "touch last; sleep 600")] }
      ])
      const log = path.join(folder, "session.jsonl")
      const session = new Session(folder, ["run", file, "--interactive", "--workspace", folder, "--session", log])
      const exists = (name: string) => waitUntil(() => fs.existsSync(path.join(folder, name)), 20_000)
      yield* session.shows("Type what is to be done")

      session.type("do it\r")
      yield* session.shows("I wait for the file.")
      yield* session.shows("Allow run_command")
      yield* session.shows("(it waits)? [y/N]")
      assert.isFalse(fs.existsSync(path.join(folder, "started")))
      session.type("y\r")
      yield* exists("started")
      yield* session.shows("run_command")
      session.type("and be quick\r")
      yield* waitUntil(() => bodies(eventsIn(log), "InputQueued").length === 2, 20_000)
      fs.writeFileSync(path.join(folder, "go"), "")
      yield* session.shows("(wait)  OK")
      yield* session.shows("(it touches)? [y/N]")
      session.type("no\r")
      yield* session.shows("(never)  DENIED")
      yield* session.shows("I have waited.")

      session.type("again\r")
      yield* exists("long")
      session.type(ctrlC)
      yield* session.shows("Ctrl-C: stopping it, and waiting until it is quiet. Again leaves")
      yield* session.shows("(long)  ABORTED")
      yield* session.shows("The turn was cancelled by the user: Ctrl-C. All of it is quiet.")

      session.type("are you there?\r")
      yield* session.shows("Here again.")

      session.type("go on\r")
      yield* exists("last")
      session.type(ctrlC)
      yield* session.shows("Again leaves")
      session.type(ctrlC)
      assert.strictEqual(yield* session.ended, 130, session.screen)
      assert.deepStrictEqual(withEnvironment(`QUIESCE_CALL`).filter(isOf(folder)), [])
      assert.isFalse(fs.existsSync(path.join(folder, "never")))

      const events = eventsIn(log)
      assert.deepStrictEqual(
        bodies(events, "UserMessage").map(({ content, step, turn }) => [turn, step, content[0].text]),
        [
          [1, 1, "do it"],
          [1, 2, "and be quick"],
          [2, 1, "again"],
          [3, 1, "are you there?"],
          [4, 1, "go on"]
        ]
      )
      assert.deepStrictEqual(
        bodies(events, "CallEnded").map(({ result }) => [result.callId, result.code ?? "OK"]),
        [
          ["wait", "OK"],
          ["never", "DENIED"],
          ["long", "ABORTED"],
          ["last", "ABORTED"]
        ]
      )
      assert.deepStrictEqual(events.at(-1)._tag, "SessionClosed")
    })
  )

  it.scopedLive("a question is withdrawn with its turn, and what is typed then is no answer", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([
        { calls: [bash("asked", "touch asked", { ask: "once" })] },
        { text: "I did not." }
      ])
      const session = new Session(folder, ["run", file, "-i", "--workspace", folder])
      yield* session.shows("Type what is to be done")
      session.type("do it\r")
      yield* session.shows("(once)? [y/N]")
      session.type(ctrlC)
      yield* session.shows("(asked)  ABORTED_BEFORE_DISPATCH")
      yield* session.shows("All of it is quiet.")
      session.type("y\r")
      yield* session.shows("I did not.")
      session.type("/quit\r")
      assert.strictEqual(yield* session.ended, 0, session.screen)
      assert.isFalse(fs.existsSync(path.join(folder, "asked")))
    })
  )

  it.scopedLive("a plan that runs by itself asks on the terminal, too", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([{ calls: [bash("asked", "touch asked", { ask: "once" })] }])
      const session = new Session(folder, ["run", file, "--workspace", folder])
      yield* session.shows("(once)? [y/N]")
      session.type("yes\r")
      yield* session.shows("Nothing of these calls is alive any more.")
      assert.strictEqual(yield* session.ended, 0, session.screen)
      assert.isTrue(fs.existsSync(path.join(folder, "asked")))

      const other = new Session(folder, ["run", file, "--workspace", folder])
      yield* other.shows("(once)? [y/N]")
      other.type(ctrlC)
      yield* other.shows("ABORTED_BEFORE_DISPATCH")
      assert.strictEqual(yield* other.ended, 130, other.screen)
    })
  )
})

/** Whether a process works in a folder. */
const isOf =
  (folder: string) =>
  (pid: number): boolean => {
    try {
      return fs.readlinkSync(`/proc/${pid}/cwd`) === folder
    } catch {
      return false
    }
  }

describe("without a terminal", () => {
  it.scopedLive("a call that somebody is to be asked about is denied, and the answer says how to allow it", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([{ calls: [bash("asked", "touch asked", { ask: "once" })] }])
      const { stdout } = yield* runHere("run", file, "--workspace", folder, "--json")
      const [call] = JSON.parse(stdout).calls
      assert.strictEqual(call.dispatched, false)
      assert.isFalse(fs.existsSync(path.join(folder, "asked")))
      const allowed = yield* runHere("run", file, "--workspace", folder, "--json", "--yes")
      assert.strictEqual(JSON.parse(allowed.stdout).calls[0].code, "OK")
      assert.isTrue(fs.existsSync(path.join(folder, "asked")))
    })
  )

  it.scopedLive("--session goes on where it stopped", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([
        { calls: [{ id: "first", tool: "write_file", parameters: { path: "first", text: "" } }] },
        { text: "half" },
        { calls: [{ id: "second", tool: "write_file", parameters: { path: "second", text: "" } }] }
      ])
      const log = path.join(folder, "session.jsonl")
      const run = Effect.suspend(() =>
        Effect.map(runHere("run", file, "--workspace", folder, "--session", log, "--json"), ({ stdout }) =>
          JSON.parse(stdout)
        )
      )
      const first = yield* run
      assert.deepStrictEqual([first.calls.map(({ call }: any) => call), first.notMade], [["first"], ["second"]])
      const second = yield* run
      assert.deepStrictEqual([second.calls.map(({ call }: any) => call), second.notMade], [["second"], []])
      assert.deepStrictEqual(
        bodies(eventsIn(log), "TurnStarted").map(({ turn }) => turn),
        [1, 2]
      )
    })
  )

  it.scopedLive("--html writes a page of all calls, in which nothing of them is markup", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([
        {
          text: "<script>alert(1)</script>",
          calls: [
            { id: "listed", tool: "list_files", parameters: {} },
            { id: "missing", tool: "read_file", parameters: { path: "<img src=x>" } },
            { id: "stopped", tool: "read_file", parameters: { path: "a" }, cancel: { phase: "before" } }
          ]
        }
      ])
      const page = path.join(folder, "page.html")
      const { exitCode } = yield* runHere("run", file, "--workspace", folder, "--html", page, "--task", "<b>go</b>")
      assert.strictEqual(exitCode, 0)
      const html = fs.readFileSync(page, "utf8")
      for (const text of [
        "list_files listed",
        "FS_NOT_FOUND",
        "ABORTED_BEFORE_DISPATCH",
        "&lt;b&gt;go&lt;/b&gt;",
        "Turn 1"
      ]) {
        assert.include(html, text)
      }
      assert.notInclude(html, "<img")
      assert.notInclude(html, "<b>")
      assert.strictEqual(html.match(/<script>/g)?.length, 1)
      assert.notMatch(html, /<(?:script|img|link|iframe)[^>]* (?:src|href)=/)
    })
  )

  it.skipIf(!fs.existsSync("/dev/full"))("a page that cannot be written ends the run with 1, and says why", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([{ text: "Done." }])
      const { exitCode, stderr } = yield* runHere("run", file, "--workspace", folder, "--html", "/dev/full")
      assert.strictEqual(exitCode, 1)
      assert.include(stderr, "The page /dev/full could not be written: ENOSPC")
    }).pipe(Effect.scoped, Effect.runPromise)
  )

  it.scopedLive("files that cannot be used are named before anything runs", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([{ calls: [bash("started", "touch started")] }])
      const missing = path.join(folder, "no", "file")
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
        [["--html", missing], /^quiesce: --html .*: expected a file in a folder that exists\n$/],
        [["--html", folder], /it is a folder: expected a file/],
        [["--session", missing], /^quiesce: --session .*no\/file/],
        [["--session", file], /^quiesce: --session .*plan\.json/]
      ]
      for (const [args, message] of cases) {
        const { exitCode, stderr, stdout } = yield* runHere("run", file, "--workspace", folder, ...args)
        assert.deepStrictEqual([exitCode, stdout], [2, ""], stderr)
        assert.match(stderr, message)
      }
      assert.isFalse(fs.existsSync(path.join(folder, "started")))
      assert.isTrue(fs.existsSync(file))
    })
  )
})

/** Answers with a call, and when that has a result, with a text. */
const callThenSay = (parameters: object) => (exchange: Exchange) => {
  const response = sse(exchange.response)
  if (exchange.body.messages.at(-1).role === "tool") {
    response.end(delta({ content: "Written." }) + delta({}, "stop") + frame("[DONE]"))
    return
  }
  const call = {
    index: 0,
    id: "call_a",
    type: "function",
    function: { name: "write_file", arguments: JSON.stringify(parameters) }
  }
  response.end(delta({ tool_calls: [call] }) + delta({}, "tool_calls") + frame("[DONE]"))
}

describe("with a language model", () => {
  it.scopedLive("a task is done with its tools, which it needs somebody's leave for", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      const server = yield* modelServer(callThenSay({ path: "note.txt", text: "hello" }))
      const args = [
        "run",
        "--model",
        "small",
        "--base-url",
        server.baseUrl,
        "--task",
        "write a note",
        "--workspace",
        folder
      ]
      const denied = yield* runHere(...args, "--json")
      assert.strictEqual(denied.exitCode, 0, denied.stderr)
      assert.strictEqual(JSON.parse(denied.stdout).calls[0].dispatched, false)
      assert.isFalse(fs.existsSync(path.join(folder, "note.txt")))

      const { exitCode, stdout } = yield* runHere(...args, "--yes")
      assert.strictEqual(exitCode, 0)
      assert.match(stdout, /\n +\d+ms {2}Written\.\n/)
      assert.strictEqual(fs.readFileSync(path.join(folder, "note.txt"), "utf8"), "hello")
      const { messages, model, tools } = server.requests[0]?.body ?? {}
      assert.strictEqual(model, "small")
      assert.deepStrictEqual(
        messages.map(({ role }: any) => role),
        ["system", "user"]
      )
      assert.include(JSON.stringify(messages[0]), folder)
      assert.strictEqual(tools.length, 13)
      yield* server.closed
    })
  )

  it.scopedLive("one that cannot be asked ends the run with 1, and says what to do", () =>
    Effect.gen(function* () {
      const server = yield* modelServer(({ response }) => {
        response.writeHead(401, { "content-type": "application/json" }).end(`{"error":{"message":"no such key"}}`)
      })
      const folder = yield* makeFolder
      const args = ["run", "--model", "small", "--base-url", server.baseUrl, "--task", "hello", "--workspace", folder]
      const { exitCode, stdout } = yield* runHere(...args)
      assert.strictEqual(exitCode, 1)
      assert.match(stdout, /The turn failed: .*\(UNAUTHORIZED\)/)
    })
  )
})
