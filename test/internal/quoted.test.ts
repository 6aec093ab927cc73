import { assert, describe, it } from "@effect/vitest"
import { FileSystem, Http, Process, Task } from "quiesce/capability"
import { oneLine, quoted } from "../../src/internal/quoted.js"

describe("quoted", () => {
  it("what people write stays as it is", () => {
    for (const name of ["notes.txt", "Grüße/日本語 😀", "a 'b' (c)", ""]) {
      assert.deepStrictEqual([quoted(name), oneLine(name)], [`"${name}"`, name])
    }
  })

  it("a name is one line of bounded length, whatever is in it", () => {
    assert.strictEqual(quoted('a\nb"\0\u202Egpj.exe\u2028\ud800'), '"a\\nb\\"\\u0000\\u202egpj.exe\\u2028\\ud800"')
    assert.strictEqual(quoted("x".repeat(1_000_000)), `"${"x".repeat(300)}..."`)
  })

  it("so are the messages of all capabilities", () => {
    const hostile = `a\n\u202e${"x".repeat(100_000)}`
    const errors = [
      new FileSystem.FileSystemError({ operation: "copy", path: hostile, to: hostile, reason: "NotFound" }),
      new Http.HttpError({ method: "GET", url: hostile, reason: "InvalidRequest" }),
      new Task.TaskError({ task: hostile, reason: "NotFound" }),
      ...Process.Reason.literals.map(
        (reason) => new Process.ProcessError({ reason, command: hostile, cwd: hostile, detail: "it is not there" })
      )
    ]
    for (const { message } of errors) {
      assert.isBelow(message.length, 1000)
      assert.notMatch(message, /[\n\u202e]/)
    }
  })
})
