import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { build } from "../support/built.js"
import { Command, runHere, withEnvironment } from "../support/cli.js"
import { waitUntil } from "../support/processes.js"

// The built command, as a person runs it. Linux alone tells from outside whose a process is.
const canLook = fs.existsSync("/proc/self/environ")

vi.setConfig({ testTimeout: 30_000 })

beforeAll(build, 120_000)

const makeFolder = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-cli-")))),
  (folder) =>
    Effect.sync(() => {
      // A test that failed may have left something. Everything that the command starts knows its temporary folder.
      if (canLook) for (const pid of withEnvironment(folder)) process.kill(pid, "SIGKILL")
      fs.rmSync(folder, { recursive: true, force: true })
    })
)

interface Call {
  readonly id?: string
  readonly tool: string
  readonly parameters: unknown
  readonly cancel?: unknown
  readonly timeoutMillis?: number
}

/** Writes a plan into a folder of its own, where it will run. */
const writePlan = (
  ...steps: ReadonlyArray<ReadonlyArray<Call>>
): Effect.Effect<{ readonly folder: string; readonly file: string }, never, Scope.Scope> =>
  Effect.map(makeFolder, (folder) => {
    const file = path.join(folder, "plan.json")
    fs.writeFileSync(file, JSON.stringify({ steps: steps.map((calls) => ({ calls })) }))
    return { folder, file }
  })

const bash = (script: string, more: object = {}) => ({
  tool: "run_command",
  parameters: { command: "bash", args: ["-c", script], ...more }
})

/** Ignores SIGTERM, has a child that does too, and says in a file when it is ready. */
const stubborn = (graceMillis: number): Call => ({
  id: "stubborn",
  ...bash(`trap "" TERM; (while :; do sleep 0.05; done) & touch ready; while :; do sleep 0.05; done`, { graceMillis })
})

const isReady = (folder: string) => waitUntil(() => fs.existsSync(path.join(folder, "ready")), 20_000)

const assertNothingLeft = (command: Command): void => {
  assert.deepStrictEqual(command.left, [])
  if (canLook) assert.deepStrictEqual(withEnvironment(command.temporary), [])
}

/** The cells of the table, by call. */
const rowsOf = (stdout: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const lines = stdout.split("\n")
  const first = lines.findIndex((line) => line.startsWith("----")) + 1
  const rows = lines.slice(first, lines.indexOf("", first)).map((line) => line.split(/ {2,}/))
  return new Map(rows.map(([id = "", ...cells]) => [id, cells]))
}

describe.concurrent("the built-in plan", () => {
  it.scopedLive("shows each way in which a call can end, and leaves nothing", () =>
    Effect.gen(function* () {
      const command = new Command(yield* makeFolder, ["run"])
      const { code } = yield* command.ended
      assert.strictEqual(command.stderr, "")
      assert.strictEqual(code, 0)

      const rows = rowsOf(command.stdout)
      const shown = [...rows].map(([id, [, code, dispatched, body, , alive]]) => [id, code, dispatched, body, alive])
      assert.deepStrictEqual(shown, [
        ["write_note", "OK", "yes", "completed", "nothing"],
        ["background_child", "OK", "yes", "completed", "nothing"],
        ["list_folder", "OK", "yes", "completed", "nothing"],
        ["read_missing", "FS_NOT_FOUND", "yes", "failed", "nothing"],
        ["exit_code_1", "TOOL_FAILURE", "yes", "failed", "nothing"],
        ["forbidden", "DENIED", "no", "not-started", "nothing"],
        ["wrong_parameters", "INVALID_ARGS", "no", "not-started", "nothing"],
        ["no_such_tool", "UNKNOWN_TOOL", "no", "not-started", "nothing"],
        ["stopped_before", "ABORTED_BEFORE_DISPATCH", "no", "not-started", "nothing"],
        ["stopped_command", "ABORTED", "yes", "interrupted", "nothing"],
        ["stubborn_command", "ABORTED", "yes", "interrupted", "nothing"],
        ["stopped_write", "ABORTED", "yes", "interrupted", "nothing"],
        ["stopped_too_late", "OK", "yes", "completed", "nothing"],
        ["too_slow", "TOOL_TIMEOUT", "yes", "interrupted", "nothing"],
        ["note_untouched", "OK", "yes", "completed", "nothing"],
        ["late_written", "OK", "yes", "completed", "nothing"],
        ["never_written", "FS_NOT_FOUND", "yes", "failed", "nothing"]
      ])
      // Nobody but SIGKILL ends this one, and that only after its grace.
      assert.isAtLeast(Number.parseInt(rows.get("stubborn_command")?.[4] ?? "", 10), 450)
      assert.match(command.stdout, /^ *\d+ms {2}too_slow {10}run_command {2}received > .* > dispatching$/m)
      assert.match(command.stdout, /Each row is one tool call/)
      assert.match(command.stdout, /Nothing of these calls is alive any more\.\n\nTry next:/)
      assertNothingLeft(command)
    })
  )

  it.scopedLive("is one JSON document with --json", () =>
    Effect.gen(function* () {
      const command = new Command(yield* makeFolder, ["run", "--json"])
      assert.deepStrictEqual(yield* command.ended, { code: 0, signal: null })
      assert.strictEqual(command.stderr, "")
      const { calls, ...rest } = JSON.parse(command.stdout)
      assert.deepStrictEqual(rest, {
        plan: null,
        workspace: rest.workspace,
        cancelled: null,
        notMade: [],
        stillAlive: []
      })
      assert.isTrue(rest.workspace.startsWith(command.temporary))
      const byId = new Map<string, any>(calls.map((call: any) => [call.call, call]))
      assert.strictEqual(byId.size, 17)
      assert.strictEqual(byId.get("note_untouched").result.value, "water the plants\n")
      assert.strictEqual(byId.get("late_written").result.value, "written all the same\n")
      assert.strictEqual(byId.get("too_slow").result.message, "tool call timed out after 400ms")
      assert.strictEqual(byId.get("forbidden").result.message, "removing files is not allowed")
      const { millis, result, ...stubborn } = byId.get("stubborn_command")
      assert.deepStrictEqual(stubborn, {
        turn: 1,
        step: 3,
        call: "stubborn_command",
        tool: "run_command",
        code: "ABORTED",
        dispatched: true,
        body: "interrupted",
        timeToQuietMillis: stubborn.timeToQuietMillis,
        stillAlive: []
      })
      assert.deepStrictEqual(result.cause, { _tag: "User", note: "the plan says so" })
      assert.isAbove(millis, stubborn.timeToQuietMillis)
      assertNothingLeft(command)
    })
  )

  it.scopedLive("leaves nothing when a second signal ends it at once", () =>
    Effect.gen(function* () {
      const command = new Command(yield* makeFolder, ["run"])
      yield* command.wrote("stdout", /stubborn_command .* dispatching/)
      assert.strictEqual(command.left.length, 1)
      command.kill("SIGINT")
      yield* command.wrote("stderr", /^Ctrl-C: cancelling/)
      command.kill("SIGTERM") // another one: no echo of the first
      assert.strictEqual((yield* command.ended).code, 143)
      yield* waitUntil(() => !canLook || withEnvironment(command.temporary).length === 0)
      assertNothingLeft(command)
    })
  )
})

describe("a plan from a file", () => {
  it.scopedLive("runs in its workspace", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan(
        [{ tool: "write_file", parameters: { path: "notes/a.txt", text: "hello" } }],
        [
          { tool: "run_command", parameters: { command: "cat", args: ["notes/a.txt"] } },
          { tool: "list_files", parameters: { path: "notes" } },
          { tool: "read_file", parameters: { path: "../plan.json" } },
          { tool: "run_command", parameters: { command: "no-such-command" } }
        ]
      )
      const workspace = path.join(folder, "work")
      fs.mkdirSync(workspace)
      const command = new Command(folder, ["run", file, "--workspace", workspace, "--json"])
      assert.strictEqual((yield* command.ended).code, 0)
      const { calls } = JSON.parse(command.stdout)
      assert.deepStrictEqual(
        calls.map(({ call, code }: any) => [call, code]),
        [
          ["call_1", "OK"],
          ["call_2", "OK"],
          ["call_3", "OK"],
          ["call_4", "FS_OUTSIDE_ROOT"],
          ["call_5", "PROCESS_COMMAND_NOT_FOUND"]
        ]
      )
      assert.strictEqual(calls[1].result.value.stdout, "hello")
      assert.deepStrictEqual(calls[2].result.value, [{ name: "a.txt", kind: "file" }])
      assert.strictEqual(fs.readFileSync(path.join(workspace, "notes/a.txt"), "utf8"), "hello")
    })
  )

  it.scopedLive("is cancelled as a whole with --cancel-after", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan(
        [{ id: "slow", ...bash("sleep 60") }],
        [{ id: "never", tool: "write_file", parameters: { path: "never.txt", text: "" } }]
      )
      const command = new Command(folder, ["run", file, "--cancel-after", "500"])
      assert.strictEqual((yield* command.ended).code, 0)
      const rows = rowsOf(command.stdout)
      assert.deepStrictEqual(rows.get("slow")?.slice(1, 4), ["ABORTED", "yes", "interrupted"])
      assert.isFalse(rows.has("never"))
      assert.include(command.stdout, "The run was cancelled by the user: --cancel-after 500.")
      assert.include(command.stdout, "Calls of the plan that were not made any more: never.")
      assert.isFalse(fs.existsSync(path.join(folder, "never.txt")))
      assertNothingLeft(command)
    })
  )

  it.scopedLive("runs code that calls the tools, within the same folder", () =>
    Effect.gen(function* () {
      const code = `
        await tools.write_file({ path: "note.txt", text: "hello" })
        await tools.read_file({ path: "../plan.json" })`
      const { file, folder } = yield* writePlan([{ tool: "run_code", parameters: { code } }])
      const workspace = path.join(folder, "work")
      fs.mkdirSync(workspace)
      const { exitCode, stdout } = yield* runHere("run", file, "--workspace", workspace, "--json")
      assert.strictEqual(exitCode, 0)
      const calls: ReadonlyArray<any> = JSON.parse(stdout).calls
      assert.strictEqual(calls.find(({ call }) => call === "call_1")?.code, "CODE_EXCEPTION")
      assert.strictEqual(fs.readFileSync(path.join(workspace, "note.txt"), "utf8"), "hello")
    })
  )

  it.scopedLive("runs a workflow, whose calls are shown below it, and a cancel ends them first", () =>
    Effect.gen(function* () {
      const sleep = (id: string) => ({ id, tool: "run_command", parameters: { command: "sleep", args: ["100"] } })
      const steps = [
        { id: "write", tool: "write_file", parameters: { path: "note.txt", text: "hello" } },
        { id: "read", tool: "read_file", parameters: { path: "note.txt" } },
        { parallel: [sleep("one"), sleep("two")] },
        { id: "never", tool: "write_file", parameters: { path: "never.txt", text: "" } }
      ]
      const { file, folder } = yield* writePlan([{ tool: "run_workflow", parameters: { steps } }])
      const { exitCode, stdout } = yield* runHere("run", file, "--workspace", folder, "--cancel-after", "2500")
      assert.strictEqual(exitCode, 0)
      assert.isTrue(fs.existsSync(path.join(folder, "note.txt")))
      assert.isFalse(fs.existsSync(path.join(folder, "never.txt")))
      // Commands take turns, so the second one was never made.
      const rows = stdout.split("\n").filter((line) => /^ *call_1/.test(line))
      assert.deepStrictEqual(
        rows.map((row) => /^( *\S+) +(\S+)/.exec(row)?.slice(1)),
        [
          ["call_1", "run_workflow"],
          ["  call_1:1", "write_file"],
          ["  call_1:2", "read_file"],
          ["  call_1:3", "run_command"]
        ]
      )
      assert.match(rows[0] ?? "", /ABORTED/)
    })
  )

  it.scopedLive("starts nothing with --cancel-after 0", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([bash("touch started"), bash("touch started")])
      const { exitCode, stdout } = yield* runHere("run", file, "--workspace", folder, "--cancel-after", "0", "--json")
      assert.strictEqual(exitCode, 0)
      const { calls, notMade } = JSON.parse(stdout)
      assert.deepStrictEqual([calls, notMade], [[], ["call_1", "call_2"]])
      assert.isFalse(fs.existsSync(path.join(folder, "started")))
    })
  )

  it.scopedLive("can cancel a call at each of its phases", () =>
    Effect.gen(function* () {
      const at = (phase: string): Call => ({
        id: phase,
        tool: "write_file",
        parameters: { path: phase, text: "" },
        cancel: { phase }
      })
      const { file, folder } = yield* writePlan([
        at("before"),
        at("gated"),
        { id: "dispatching", ...bash("sleep 60"), cancel: { phase: "dispatching" } },
        at("settled"),
        at("reviewed"),
        at("after")
      ])
      const { stdout } = yield* runHere("run", file, "--workspace", folder, "--json")
      assert.deepStrictEqual(
        JSON.parse(stdout).calls.map(({ body, call, code }: any) => [call, code, body]),
        [
          ["before", "ABORTED_BEFORE_DISPATCH", "not-started"],
          ["gated", "ABORTED_BEFORE_DISPATCH", "not-started"],
          ["dispatching", "ABORTED", "interrupted"],
          ["settled", "OK", "completed"],
          ["reviewed", "OK", "completed"],
          ["after", "OK", "completed"]
        ]
      )
      assert.deepStrictEqual(
        fs.readdirSync(folder).filter((name) => name !== "plan.json"),
        ["after", "reviewed", "settled"]
      )
    })
  )

  it.scopedLive.skipIf(!canLook)("has processes named that got away, also those that its result does not know", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan(
        // Leaves its group when nobody looks: its parent is gone before anything is stopped.
        [{ id: "unseen", ...bash("setsid sleep 61 >/dev/null 2>&1 & exit 0") }],
        [{ id: "runaway", ...bash(`setsid sh -c "touch ready; exec sleep 60" >/dev/null 2>&1 & wait`) }]
      )
      const command = new Command(folder, ["run", file])
      yield* isReady(folder)
      command.kill("SIGINT")
      yield* command.ended
      const rows = rowsOf(command.stdout)
      assert.match(rows.get("unseen")?.[5] ?? "", /^process \d+ \(sleep\)$/)
      assert.match(rows.get("runaway")?.[5] ?? "", /^process \d+ \(sleep\), which has left the process group \d+$/)
      assert.match(command.stdout, /\nStill alive: process \d+ \(sleep\); process \d+ \(sleep\), which has left/)
      assert.strictEqual(withEnvironment(command.temporary).length, 2)
    })
  )

  it.scopedLive("runs to its end although nobody reads on", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([bash("sleep 0.3")], [bash("touch done")])
      const command = new Command(folder, ["run", file])
      yield* command.wrote("stdout", /dispatching/)
      command.closeOutput()
      assert.deepStrictEqual(yield* command.ended, { code: 0, signal: null })
      assert.strictEqual(command.stderr, "")
      assert.isTrue(fs.existsSync(path.join(folder, "done")))
    })
  )
})

describe.concurrent("signals", () => {
  it.scopedLive("Ctrl-C cancels, waits until all is quiet, and leaves with 130", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([stubborn(400)], [{ id: "next", ...bash("touch next") }])
      const command = new Command(folder, ["run", file])
      yield* isReady(folder)
      command.kill("SIGINT")
      assert.deepStrictEqual(yield* command.ended, { code: 130, signal: null })
      const rows = rowsOf(command.stdout)
      assert.deepStrictEqual(rows.get("stubborn")?.slice(1, 4), ["ABORTED", "yes", "interrupted"])
      assert.isAtLeast(Number.parseInt(rows.get("stubborn")?.[4] ?? "", 10), 350)
      assert.isFalse(rows.has("next"))
      assert.include(command.stdout, "The run was cancelled by the user: Ctrl-C.")
      assert.isFalse(fs.existsSync(path.join(folder, "next")))
      assertNothingLeft(command)
    })
  )

  it.scopedLive("a second Ctrl-C kills everything at once", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([stubborn(60_000)])
      const command = new Command(folder, ["run", file])
      yield* isReady(folder)
      command.kill("SIGINT")
      yield* command.wrote("stderr", /^Ctrl-C: cancelling/)
      command.kill("SIGINT") // an echo of the first one, such as npm makes, is no second one
      yield* command.wrote("stderr", /Ctrl-C again kills it at once/)
      assert.match(command.stderr, /Ctrl-C again kills it at once/)
      command.kill("SIGINT")
      assert.deepStrictEqual(yield* command.ended, { code: 130, signal: null })
      assert.notInclude(command.stdout, "Each row")
      yield* waitUntil(() => !canLook || withEnvironment(command.temporary).length === 0)
      assertNothingLeft(command)
    })
  )

  it.scopedLive("SIGTERM is a stop too, and leaves with 143", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([{ id: "slow", ...bash("touch ready; sleep 60") }])
      const command = new Command(folder, ["run", file, "--json"])
      yield* isReady(folder)
      command.kill("SIGTERM")
      assert.deepStrictEqual(yield* command.ended, { code: 143, signal: null })
      const { calls, cancelled } = JSON.parse(command.stdout)
      assert.deepStrictEqual(cancelled, { _tag: "User", note: "SIGTERM" })
      assert.strictEqual(calls[0].code, "ABORTED")
      assertNothingLeft(command)
    })
  )
})

describe("bad input", () => {
  it.scopedLive("ends the command with 2 before anything runs", () =>
    Effect.gen(function* () {
      const { file, folder } = yield* writePlan([bash("touch started")], [{ tool: "rea_file", parameters: {} }])
      const command = new Command(folder, ["run", file])
      assert.strictEqual((yield* command.ended).code, 2)
      assert.strictEqual(command.stdout, "")
      assert.match(
        command.stderr,
        /^quiesce: .*plan\.json: \$\.steps\[1\]\.calls\[0\]\.tool: there is no tool "rea_file": /
      )
      assert.isFalse(fs.existsSync(path.join(folder, "started")))
    })
  )

  it.scopedLive("is explained", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      const plan = path.join(folder, "plan.json")
      fs.writeFileSync(plan, `{\n  "steps": [,]\n}`)
      const fine = path.join(folder, "fine.json")
      fs.writeFileSync(fine, `\uFEFF{ "steps": [{ "calls": [{ "tool": "list_files", "parameters": {} }] }] }`)
      const missing = path.join(folder, "missing")
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [[plan], `quiesce: ${plan}:2:13: $: not JSON: expected a value, found ","\n`],
        [[missing], `quiesce: ${missing}: there is no such file: expected a plan in JSON\n`],
        [[folder], `quiesce: ${folder}: it is a folder: expected a plan in JSON\n`],
        [
          [fine, "--workspace", missing],
          `quiesce: --workspace ${missing}: there is no such folder: expected a folder that exists\n`
        ],
        [
          [fine, "--workspace", plan],
          `quiesce: --workspace ${plan}: it is not a folder: expected a folder that exists\n`
        ]
      ]
      for (const [args, message] of cases) {
        assert.deepStrictEqual(yield* runHere("run", ...args), { exitCode: 2, stdout: "", stderr: message })
      }
      const { exitCode } = yield* runHere("run", fine, "--workspace", folder)
      assert.strictEqual(exitCode, 0)
    })
  )

  it.live("of the command line comes with the usage", () =>
    Effect.gen(function* () {
      const { exitCode, stderr, stdout } = yield* runHere("run", "--foo")
      assert.strictEqual(exitCode, 2)
      assert.strictEqual(stdout, "")
      assert.match(stderr, /^quiesce: Unknown option '--foo'\nUsage: quiesce run \[PLAN\]/)
    })
  )
})

describe("help", () => {
  it.scopedLive("has an example that runs", () =>
    Effect.gen(function* () {
      const { exitCode, stderr, stdout } = yield* runHere("run", "--help")
      assert.strictEqual(exitCode, 0)
      assert.strictEqual(stderr, "")
      const folder = yield* makeFolder
      const file = path.join(folder, "plan.json")
      fs.writeFileSync(file, /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(stdout)?.[0] ?? "")
      const example = yield* runHere("run", file, "--workspace", folder, "--json")
      assert.deepStrictEqual(
        JSON.parse(example.stdout).calls.map(({ call, code }: any) => [call, code]),
        [
          ["call_1", "OK"],
          ["call_2", "OK"],
          ["slow", "ABORTED"]
        ]
      )
    })
  )
})

describe("with no package but those that the library needs", () => {
  it.scopedLive("the command runs", () =>
    Effect.gen(function* () {
      const folder = yield* makeFolder
      fs.cpSync("dist", path.join(folder, "dist"), { recursive: true })
      fs.writeFileSync(path.join(folder, "package.json"), `{ "type": "module" }`)
      fs.mkdirSync(path.join(folder, "node_modules/@effect"), { recursive: true })
      for (const name of ["effect", "@effect/platform"]) {
        fs.symlinkSync(path.resolve("node_modules", name), path.join(folder, "node_modules", name))
      }
      const command = new Command(folder, ["run"], path.join(folder, "dist/cli/main.js"))
      assert.strictEqual((yield* command.ended).code, 0, command.stderr)
      assertNothingLeft(command)
    })
  )
})
