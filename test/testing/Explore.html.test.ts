import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Explore, type Invariant, Sim } from "quiesce/testing"
import { makeFolder } from "../support/folder.js"
import { pipeline, truths } from "./plantedBugs.js"

interface Element {
  readonly tag: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Array<Element | string>
}

const entities: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" }

const unescape = (text: string): string =>
  text.replaceAll(/&([^;]*);/g, (whole, name) => entities[name] ?? assert.fail(`not an entity: ${whole}`))

/** Reads a page more strictly than a browser would: each tag closed, in order, nothing that could be read in two ways. */
const parse = (html: string): Element => {
  const root: Element = { tag: "root", attributes: new Map(), children: [] }
  const open = [root]
  const at = () => open.at(-1) ?? root
  let rest = html
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    const match = pattern.exec(rest)
    if (match !== null) rest = rest.slice(match[0].length)
    return match ?? undefined
  }
  assert.isDefined(take(/^<!DOCTYPE html>\n/))
  while (rest !== "") {
    const raw = /^(?:script|style)$/.test(at().tag) ? take(new RegExp(`^(?:(?!</${at().tag}>)[^<&])+`)) : undefined
    const text = raw ?? take(/^[^<>]+/)
    if (text !== undefined) {
      at().children.push(raw === undefined ? unescape(text[0]) : text[0])
      continue
    }
    const end = take(/^<\/([a-z0-9]+)>/)
    if (end !== undefined) {
      assert.strictEqual(open.pop()?.tag, end[1])
      continue
    }
    const [, tag = "", list = "", closed] =
      take(/^<([a-z0-9]+)((?: [a-z-]+="[^"<>]*")*)( \/)?>/) ?? assert.fail(`not a tag: ${rest.slice(0, 80)}`)
    const attributes = new Map(
      [...list.matchAll(/ ([a-z-]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, unescape(value)] as const)
    )
    const element = { tag, attributes, children: [] }
    at().children.push(element)
    if (closed === undefined) open.push(element)
  }
  assert.deepStrictEqual(open, [root])
  return root
}

const all = (element: Element, tag: string): ReadonlyArray<Element> =>
  element.children.flatMap((child) =>
    typeof child === "string" ? [] : [...(child.tag === tag ? [child] : []), ...all(child, tag)]
  )

const textOf = (element: Element): string =>
  element.children.map((child) => (typeof child === "string" ? child : textOf(child))).join("")

const attributeNames = ({ attributes, children }: Element): ReadonlyArray<string> => [
  ...attributes.keys(),
  ...children.flatMap((child) => (typeof child === "string" ? [] : attributeNames(child)))
]

const harmless = ["lang", "charset", "http-equiv", "content", "id", "type", "class", "title", "scope"]

const classes = ({ attributes }: Element): ReadonlyArray<string> => attributes.get("class")?.split(" ") ?? []

const lines = (table: Element | undefined) =>
  (table === undefined ? [] : all(table, "tr")).slice(1).map((row) => ({
    classes: classes(row),
    marks: all(row, "td").slice(1, -1).map(textOf),
    text: textOf(all(row, "td").at(-1) ?? row)
  }))

const hostile = `</script><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;"'\u0000\u202e`

/** As a page has it, on which a control character may not stand. */
const shown = hostile.replace("\u0000", "\uFFFD")

/** Everything that a program can give a name to has one of these. */
const named = Effect.gen(function* () {
  const worker = yield* Sim.fork(hostile)(
    Effect.withSpan(
      Effect.zipRight(
        Sim.event(hostile),
        Sim.external(hostile, { [hostile]: Effect.void, other: Effect.dieMessage(hostile) })
      ),
      hostile
    )
  )
  yield* Sim.note(hostile)
  yield* Effect.log(hostile)
  yield* Sim.interrupt(worker, hostile)
  yield* Fiber.await(worker)
  return hostile
})

describe("Explore.toHtml", () => {
  it.effect("shows what the message shows: lanes, marks, the fault, the window, and how to replay it", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Explore.check(pipeline("signal not restored"), { invariants: truths }))
      const page = parse(Explore.toHtml(failure))
      assert.strictEqual(textOf(all(page, "h1")[0] ?? page), `✗ ${failure.problem}`)
      assert.strictEqual(textOf(all(page, "code")[0] ?? page), `EXPLORE_REPLAY='${failure.schedule}'`)
      assert.strictEqual(all(page, "code")[0]?.attributes.get("id"), "replay")
      const remarks = all(page, "p").map(textOf).join("\n")
      assert.match(remarks, /^1\. Before step \d+ of call, the fault "interrupt" strikes\.$/m)
      for (const line of failure.message
        .split("\n")
        .filter((line) => /fails too|needs a|fails also|found at/.test(line)))
        assert.include(remarks, line.trim())

      const [happened, without] = all(page, "table")
      assert.deepStrictEqual(all(happened ?? page, "th").map(textOf), [
        "step",
        "env",
        "main",
        "host",
        "call",
        "what happened"
      ])
      // Line by line what the text has, and between them the steps of the window.
      const told = failure.message.split("\n").flatMap((line) => {
        const [, step, marks = "", text] = /^ +(\d+) {2}(\S.*?) {2}(\S(?:\S| (?! ))*)$/.exec(line) ?? []
        return step === undefined ? [] : [{ marks: marks.trim().split(/ +/), text }]
      })
      assert.isAbove(told.length, 10)
      const rows = lines(happened).map(({ marks, text }) => ({ marks: marks.map((mark) => mark || "·"), text }))
      let at = 0
      for (const { marks, text } of told) {
        at = rows.findIndex((row, i) => i >= at && row.text === text && row.marks.join() === marks.join())
        assert.isAtLeast(at, 0, `${marks.join(" ")} ${text}`)
      }

      const fault = lines(happened).findIndex((row) => row.classes.includes("fault"))
      assert.strictEqual(lines(happened)[fault]?.marks[0], "⚡")
      const shaded = lines(happened).map((row) => row.classes.includes("window"))
      assert.isTrue(shaded[fault])
      assert.isFalse(shaded.slice(fault + 1).includes(true), "shaded behind the fault")

      // The window, as the message has it, is shaded in the run that the fault has left alone.
      const [, from, to] = /before its steps (\d+)\.\.(\d+) fails too/.exec(failure.message) ?? []
      const steps = all(without ?? page, "tr").filter((row) => classes(row).includes("window"))
      const own = steps.flatMap(
        ({ attributes }) => /^step (\d+) of call/.exec(attributes.get("title") ?? "")?.[1] ?? []
      )
      const span = Number(to) - Number(from) + 1
      assert.deepStrictEqual(
        own,
        Array.from({ length: span }, (_, i) => String(Number(from) + i))
      )
      assert.isFalse(lines(without).some((row) => row.classes.includes("fault")))
    })
  )

  it.effect("marks every departure from the default order", () =>
    Effect.gen(function* () {
      const order = Effect.gen(function* () {
        const log: Array<string> = []
        const ask = (name: string) =>
          Effect.zipRight(
            Sim.external(name, { yes: Effect.void }),
            Effect.sync(() => log.push(name))
          )
        const fibers = [yield* Sim.fork("first")(ask("a")), yield* Sim.fork("second")(ask("b"))]
        yield* Effect.zipRight(Effect.yieldNow(), Fiber.joinAll(fibers))
        if (log.join("") === "ba") return yield* Effect.fail("the wrong way round")
      })
      const words = { op: /^gives way to (.*)$/, suspension: /^(.*) comes before .*$/ } as const
      for (const granularity of ["op", "suspension"] as const) {
        const failure = yield* Effect.flip(Explore.check(order, { granularity }))
        const page = parse(Explore.toHtml(failure))
        const [, choice = ""] = /^x1\/[^,]+>([^,]+)$/.exec(failure.schedule) ?? assert.fail(failure.schedule)
        const [departure, ...others] = lines(all(page, "table")[0]).filter((row) => row.classes.includes("switch"))
        assert.deepStrictEqual(others, [])
        assert.strictEqual(words[granularity].exec(departure?.text ?? "")?.[1], choice)
        assert.include(failure.message, ` ${departure?.text}\n`)
        assert.strictEqual(all(page, "table").length, 1, "there is no fault that could be left out")
      }
    })
  )

  it.effect("escapes every name, and loads nothing", () =>
    Effect.gen(function* () {
      const events = [`"${shown}"`, `span ${shown}`]
      const fault = /^FAULT .*before step \d+ of/
      const cases: ReadonlyArray<readonly [Invariant.Invariant, expected: ReadonlyArray<string | RegExp>]> = [
        [() => hostile, events],
        [(run) => (run.events.length === 0 ? hostile : undefined), [fault]]
      ]
      for (const [invariant, expected] of cases) {
        const failure = yield* Effect.flip(Explore.check(named, { invariants: [invariant], name: hostile }))
        const html = Explore.toHtml(failure)
        const page = parse(html)
        assert.strictEqual(all(page, "script").length, 1)
        assert.strictEqual(all(page, "img").length, 0)
        assert.isFalse(all(page, "body").some(({ children }) => children.includes("alert")))
        assert.strictEqual(textOf(all(page, "code")[0] ?? page), `EXPLORE_REPLAY='${failure.schedule}'`)
        assert.notMatch(failure.schedule, /['\p{Cc}]/u, "no shell passes these on")
        for (const name of attributeNames(page)) assert.include(harmless, name)
        assert.notInclude(html, "\u0000")
        assert.include(textOf(all(page, "h1")[0] ?? page), shown)
        assert.include(textOf(all(page, "title")[0] ?? page), shown)
        const texts = lines(all(page, "table")[0]).map(({ text }) => text)
        for (const text of [shown, `log: ${shown}`, ...expected])
          assert.isTrue(
            texts.some((line) => (typeof text === "string" ? line === text : text.test(line))),
            String(text)
          )
      }
    })
  )

  it.effect("has a policy under which only its own script runs", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Explore.check(Effect.fail("no luck")))
      const page = parse(Explore.toHtml(failure))
      const policy = all(page, "meta").find(({ attributes }) => attributes.has("http-equiv"))
      const digest = (tag: string) =>
        Effect.promise(async () => {
          const bytes = new TextEncoder().encode(textOf(all(page, tag)[0] ?? page))
          const hash = await crypto.subtle.digest("SHA-256", bytes)
          return `'sha256-${Buffer.from(hash).toString("base64")}'`
        })
      assert.strictEqual(
        policy?.attributes.get("content"),
        `default-src 'none'; style-src ${yield* digest("style")}; script-src ${yield* digest("script")}`
      )
    })
  )

  it.effect("draws a livelock of thousands of fibers on a page that can be opened", () =>
    Effect.gen(function* () {
      const spawns: Effect.Effect<void> = Effect.suspend(() =>
        Effect.fork(Effect.never).pipe(Effect.zipRight(Effect.yieldNow()), Effect.zipRight(spawns))
      )
      const failure = yield* Effect.flip(Explore.check(spawns, { maxSteps: 4_000, preemptions: 0 }))
      const html = Explore.toHtml(failure)
      const [table] = all(parse(html), "table")
      assert.isBelow(html.length, 4_000_000)
      assert.strictEqual(lines(table).length, 1_000)
      assert.isAtMost(all(table ?? parse(html), "th").length, 42)
      assert.include(all(table ?? parse(html), "th").map(textOf), "other fibers")
      assert.match(html, /<p>\d+ earlier lines are left out\.<\/p>/)
    })
  )

  it.effect("gives a page with the message for a failure without a run", () =>
    Effect.gen(function* () {
      const differs = yield* Effect.flip(Explore.check(Effect.sync(() => String(Math.random()))))
      assert.include(textOf(all(parse(Explore.toHtml(differs)), "h1")[0] as Element), "two runs of one schedule differ")
      const own = new Explore.ExploreFailure({ problem: "problem", schedule: "", message: "a <message>" })
      const page = parse(Explore.toHtml(own))
      assert.include(textOf(all(page, "h1")[0] ?? page), "a <message>")
      assert.strictEqual(all(page, "script").length, 0)
    })
  )
})

describe("Explore.check, html", () => {
  const lost = Effect.fail("lost")

  it.scoped("writes one file for each failure, and names it in the message", () =>
    Effect.gen(function* () {
      const folder = path.join(yield* makeFolder, "a", "b")
      const files = () => (fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [])
      const one = yield* Effect.flip(Explore.check(lost, { html: folder, name: "loses / ../it" }))
      const [file = "", ...others] = files()
      assert.deepStrictEqual(others, [])
      assert.match(file, /^loses-it-[0-9a-f]{8}\.html$/)
      assert.include(one.message, `timeline ${path.join(folder, file)}`)
      assert.strictEqual(fs.readFileSync(path.join(folder, file), "utf8"), Explore.toHtml(one))

      yield* Effect.flip(Explore.check(lost, { html: folder, name: "loses / ../it" }))
      assert.deepStrictEqual(files(), [file], "the same failure once more")
      yield* Effect.flip(Explore.check(lost, { html: folder, name: "loses it" }))
      assert.strictEqual(files().length, 2, "another test whose name looks the same")
      yield* Effect.flip(Explore.check(Effect.fail("other"), { html: folder }))
      assert.match(files().join(" "), /scenario-[0-9a-f]{8}\.html/)
      yield* Explore.check(Effect.succeed("fine"), { html: folder, name: "passes" })
      assert.strictEqual(files().length, 3)
    })
  )

  it.scoped("says why a file could not be written, beside the failure that was found", () =>
    Effect.gen(function* () {
      const file = path.join(yield* makeFolder, "file")
      fs.writeFileSync(file, "")
      const failure = yield* Effect.flip(Explore.check(lost, { html: path.join(file, "folder") }))
      assert.include(failure.message, "✗ the scenario failed: Error: lost")
      assert.match(failure.message, /timeline could not be written: Error: ENOTDIR/)
    })
  )
})
