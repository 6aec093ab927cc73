import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, FiberRef, Layer, Runtime, type Scope, Stream } from "effect"
import { Abort, CancelCause, Cancellation } from "quiesce"
import { Seam } from "quiesce/promise"

const reason = { the: "host's own object" }
const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length
const turn = () => new Promise((resolve) => setImmediate(resolve))

const rejection = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => assert.fail("resolved"),
    (error) => error
  )

class Broken {
  readonly _tag = "Broken"
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

interface Line {
  readonly number: number
  readonly talk: Effect.Effect<string, Broken, Cancellation.Cancellation>
  readonly isOpen: Effect.Effect<boolean>
}

interface Service {
  readonly echo: (
    text: string,
    options?: { readonly twice?: boolean }
  ) => Effect.Effect<string, Broken, Cancellation.Cancellation>
  readonly work: Effect.Effect<string, Broken, Cancellation.Cancellation>
  readonly count: (from: number) => Stream.Stream<number, Broken, Cancellation.Cancellation>
  readonly size: (of?: string) => Effect.Effect<number>
  readonly line: () => Effect.Effect<Line, Broken, Cancellation.Cancellation | Scope.Scope>
  readonly version: string
}

class Tag extends Context.Tag("quiesce/test/promise/Seam.test/Tag")<Tag, Service>() {}

const line = { number: "sync", talk: "get effect", isOpen: "get at-once" } as const satisfies Seam.Descriptor<Line>
const definition = Seam.define(Tag)({
  operations: {
    echo: "effect",
    work: "get effect",
    count: "stream",
    size: "at-once",
    line: { kind: "effect", gives: line, endedBy: ["talk"] },
    version: "sync"
  },
  catch: (error) => (error instanceof Broken ? error : new Broken(error))
})

/** A service of which one sees what runs. */
const world = () => {
  const log: Array<string> = []
  const note = (what: string) => Effect.sync(() => void log.push(what))
  const cleaned = Deferred.unsafeMake<void>(Fiber.getCurrentFiber() as never)
  let during: Effect.Effect<string, Broken> = Effect.never
  const service: Service = {
    echo: (text, options) =>
      Cancellation.operation(
        Effect.sync(() => {
          log.push(`echo ${text} ${JSON.stringify(options)}`)
          return options?.twice === true ? text + text : text
        }),
        "echo"
      ),
    work: Effect.suspend(() =>
      Effect.onInterrupt(Effect.zipRight(note("began"), during), () =>
        Effect.zipRight(Deferred.await(cleaned), note("cleaned"))
      )
    ).pipe(Cancellation.operation("work")),
    count: (from) =>
      Stream.acquireRelease(note("opened"), () => Effect.zipRight(Deferred.await(cleaned), note("closed"))).pipe(
        // In one chunk, as streams of files and sockets come.
        Stream.flatMap(() => Stream.range(from, from + 3)),
        Stream.mapChunksEffect((chunk) => (from < 3 ? Effect.fail(new Broken("three")) : Effect.succeed(chunk)))
      ),
    size: (of) => Effect.succeed(of?.length ?? 0),
    line: () =>
      Effect.acquireRelease(note("line opened"), () =>
        Effect.zipRight(Deferred.await(cleaned), note("line closed"))
      ).pipe(
        Effect.as({
          number: 7,
          talk: Cancellation.operation(Effect.succeed("hello"), "talk"),
          isOpen: Effect.succeed(true)
        })
      ),
    version: "1"
  }
  return {
    service,
    seam: Seam.toSeam(definition, service),
    log,
    clean: () => Deferred.unsafeDone(cleaned, Exit.void),
    set: (effect: Effect.Effect<string, Broken>) => {
      during = effect
    }
  }
}

describe("Seam.toSeam", () => {
  it("operations give promises; options without signal arrive as they are, signal alone as none", async () => {
    const { log, seam } = world()
    const { signal } = new AbortController()
    assert.strictEqual(await seam.echo("a", { twice: true, signal }), "aa")
    assert.strictEqual(await seam.echo("b", { signal }), "b")
    assert.deepStrictEqual(log, [`echo a {"twice":true}`, "echo b undefined"])
    assert.strictEqual(seam.version, "1")
    assert.strictEqual(listeners(signal), 0)
  })

  it("operations run with the runtime of a host, where one is given", async () => {
    const whose = FiberRef.unsafeMake("Effect's own")
    const effectRuntime = Runtime.setFiberRef(Runtime.defaultRuntime, whose, "the host's")
    const service = { ...world().service, work: Cancellation.operation(FiberRef.get(whose), "work") }
    const { signal } = new AbortController()
    assert.strictEqual(await Seam.toSeam(definition, service).work({ signal }), "Effect's own")
    assert.strictEqual(await Seam.toSeam(definition, service, { effectRuntime }).work({ signal }), "the host's")
  })

  it("L3, L6: an abort is answered after the clean-up, with the reason, the same object", async () => {
    const { clean, log, seam } = world()
    const controller = new AbortController()
    let settled = false
    const promise = rejection(seam.work({ signal: controller.signal })).finally(() => {
      settled = true
    })
    controller.abort(reason)
    await turn()
    assert.isFalse(settled)
    clean()
    assert.strictEqual(await promise, reason)
    assert.deepStrictEqual(log, ["began", "cleaned"])
    assert.strictEqual(listeners(controller.signal), 0)
  })

  it("L10: nothing is started under a signal that has aborted", async () => {
    const { log, seam } = world()
    assert.strictEqual(await rejection(seam.echo("a", { signal: AbortSignal.abort(reason) })), reason)
    const numbers = seam.count(0, { signal: AbortSignal.abort(reason) })[Symbol.asyncIterator]()
    assert.strictEqual(await rejection(numbers.next()), reason)
    assert.deepStrictEqual(log, [])
  })

  it("a failure is the tagged error itself, and a defect the defect", async () => {
    const { seam, set } = world()
    const { signal } = new AbortController()
    const broken = new Broken("no")
    set(Effect.fail(broken))
    assert.strictEqual(await rejection(seam.work({ signal })), broken)
    const defect = new Error("bug")
    set(Effect.die(defect))
    assert.strictEqual(await rejection(seam.work({ signal })), defect)
    assert.strictEqual(listeners(signal), 0)
  })

  it("without a signal, where types are not looked at, nothing is started", async () => {
    const { log, seam } = world()
    for (const last of [[], [{}], [{ signal: "stop" }], [undefined]]) {
      const error = await rejection((seam.echo as (...args: Array<unknown>) => Promise<string>)("a", ...last))
      assert.match(String(error), /TypeError: echo needs a signal/)
    }
    assert.throws(() => (seam.count as (n: number) => unknown)(0), /count needs a signal/)
    assert.deepStrictEqual(log, [])
  })

  it("what answers at once needs no signal", async () => {
    const { seam } = world()
    assert.strictEqual(await seam.size("four"), 4)
    assert.strictEqual(await seam.size(), 0)
  })

  it("10,000 in flight on one signal are one listener, and none when they are done", async () => {
    const { seam } = world()
    const controller = new AbortController()
    const all = Array.from({ length: 10_000 }, () => seam.echo("a", { signal: controller.signal }))
    assert.isAtMost(listeners(controller.signal), 1)
    await Promise.all(all)
    assert.strictEqual(listeners(controller.signal), 0)
  })
})

describe("Seam.toSeam, streams", () => {
  const take = async (numbers: AsyncIterable<number>, most: number): Promise<ReadonlyArray<number>> => {
    const taken: Array<number> = []
    for await (const n of numbers) {
      taken.push(n)
      if (taken.length === most) break
    }
    return taken
  }

  it("is iterated to its end, anew each time, and is closed by then", async () => {
    const { clean, log, seam } = world()
    const { signal } = new AbortController()
    clean()
    const numbers = seam.count(10, { signal })
    assert.deepStrictEqual(log, [])
    assert.deepStrictEqual(await take(numbers, 99), [10, 11, 12, 13])
    assert.deepStrictEqual(log, ["opened", "closed"])
    assert.deepStrictEqual(await take(numbers, 99), [10, 11, 12, 13])
    assert.strictEqual(listeners(signal), 0)
  })

  it("L4: leaving early waits until it is closed, and aborts nothing of the host's", async () => {
    const { clean, log, seam } = world()
    const { signal } = new AbortController()
    let left = false
    const taken = take(seam.count(10, { signal }), 2).finally(() => {
      left = true
    })
    await turn()
    await turn()
    assert.isFalse(left)
    clean()
    assert.deepStrictEqual(await taken, [10, 11])
    assert.deepStrictEqual(log, ["opened", "closed"])
    assert.isFalse(signal.aborted)
    assert.strictEqual(listeners(signal), 0)
  })

  it("L6, I3: an abort ends it with the reason when it is closed, and gives no element any more", async () => {
    const { clean, log, seam } = world()
    const controller = new AbortController()
    const numbers = seam.count(10, { signal: controller.signal })[Symbol.asyncIterator]()
    assert.deepStrictEqual(await numbers.next(), { done: false, value: 10 })
    controller.abort(reason)
    const next = rejection(numbers.next())
    await turn()
    assert.deepStrictEqual(log, ["opened"])
    clean()
    assert.strictEqual(await next, reason)
    assert.deepStrictEqual(log, ["opened", "closed"])
    assert.deepStrictEqual(await numbers.next(), { done: true, value: undefined })
  })

  it("fails with the error itself", async () => {
    const { clean, seam } = world()
    clean()
    const { signal } = new AbortController()
    assert.instanceOf(await rejection(take(seam.count(1, { signal }), 99)), Broken)
    assert.strictEqual(listeners(signal), 0)
  })

  it("an abort while nobody waits is no unhandled rejection", async () => {
    const unhandled: Array<unknown> = []
    const note = (error: unknown) => unhandled.push(error)
    process.on("unhandledRejection", note)
    const { clean, seam } = world()
    clean()
    const controller = new AbortController()
    const numbers = seam.count(10, { signal: controller.signal })[Symbol.asyncIterator]()
    await numbers.next()
    controller.abort(reason)
    await turn()
    await turn()
    process.off("unhandledRejection", note)
    assert.deepStrictEqual(unhandled, [])
    assert.deepStrictEqual(await numbers.return?.(), { done: true, value: undefined })
  })
})

describe("Seam.toSeam, handles", () => {
  it("is as long as its scope, and closing waits", async () => {
    const { clean, log, seam } = world()
    const { signal } = new AbortController()
    const line = await seam.line({ signal })
    assert.strictEqual(line.number, 7)
    assert.isTrue(await line.isOpen())
    const closed = line.close()
    await turn()
    assert.deepStrictEqual(log, ["line opened"])
    clean()
    await closed
    await line.close()
    assert.deepStrictEqual(log, ["line opened", "line closed"])
    assert.strictEqual(listeners(signal), 0)
  })

  it("an operation that ends it waits for that, and an abort of its own signal closes it", async () => {
    const { clean, log, seam } = world()
    clean()
    const controller = new AbortController()
    const { signal } = controller
    {
      await using line = await seam.line({ signal })
      assert.strictEqual(await line.talk({ signal }), "hello")
      assert.deepStrictEqual(log, ["line opened", "line closed"])
    }
    const line = await seam.line({ signal })
    controller.abort(reason)
    assert.strictEqual(await rejection(line.talk({ signal: new AbortController().signal })), reason)
    await line.close()
    assert.deepStrictEqual(log.slice(2), ["line opened", "line closed"])
    assert.strictEqual(listeners(signal), 0)
  })
})

describe("Seam.open", () => {
  it("H1, H2: closing stops what runs, waits for it, closes the layer, and lets nothing start", async () => {
    const { clean, log, service } = world()
    const layer = Layer.scoped(
      Tag,
      Effect.acquireRelease(Effect.succeed(service), () => Effect.sync(() => log.push("layer closed")))
    )
    const opened = await Seam.open(definition, layer)
    const { signal } = new AbortController()
    const working = rejection(opened.seam.work({ signal }))
    await turn()
    const closed = opened.close()
    assert.strictEqual(opened.close(), closed)
    await turn()
    assert.deepStrictEqual(log, ["began"])
    clean()
    await closed
    assert.deepStrictEqual(log, ["began", "cleaned", "layer closed"])
    assert.deepInclude(await working, { name: "AbortError", cause: CancelCause.disposed() })
    assert.deepInclude(await rejection(opened.seam.echo("late", { signal })), { cause: CancelCause.disposed() })
    assert.strictEqual(listeners(signal), 0)
  })

  it("H3: what belongs to the layer does not end with the opening", async () => {
    const layer = Layer.scoped(
      Tag,
      Effect.map(Cancellation.ownScoped, (owner) => ({
        ...world().service,
        work: Effect.provide(Cancellation.operation(Effect.succeed("under the layer's owner"), "work"), owner)
      })) as Effect.Effect<Service, never, Scope.Scope>
    )
    await using opened = await Seam.open(definition, layer)
    assert.strictEqual(await opened.seam.work({ signal: new AbortController().signal }), "under the layer's owner")
  })

  it("a layer that fails, or is not wanted any more, leaves nothing", async () => {
    const log: Array<string> = []
    const half = Layer.scopedDiscard(
      Effect.acquireRelease(Effect.void, () => Effect.sync(() => void log.push("released")))
    )
    const failing = Layer.provideMerge(Layer.effect(Tag, Effect.fail("no luck")), half)
    assert.strictEqual(await rejection(Seam.open(definition, failing)), "no luck")
    const controller = new AbortController()
    const slow = Layer.provideMerge(Layer.effect(Tag, Effect.never), half)
    const opening = rejection(Seam.open(definition, slow, { signal: controller.signal }))
    await turn()
    controller.abort(reason)
    assert.strictEqual(await opening, reason)
    assert.deepStrictEqual(log, ["released", "released"])
  })
})

describe("Seam.fromSeam", () => {
  const provided = (seam: Partial<Seam.Of<Service, any>>) => Seam.fromSeam(definition, seam as never)
  const use = <A, E>(
    seam: Partial<Seam.Of<Service, any>>,
    f: (service: Service) => Effect.Effect<A, E, Cancellation.Cancellation | Scope.Scope>
  ) => Effect.scoped(Effect.provide(Effect.flatMap(Tag, f), provided(seam)))

  it("options arrive with a signal in them, and without options the signal stands alone", async () => {
    const seen: Array<unknown> = []
    const echo = async (...args: Array<any>) => {
      seen.push([...args.slice(0, -1), Object.keys(args.at(-1)).sort(), args.at(-1).signal.aborted])
      return "done"
    }
    const all = use({ echo } as never, (service) =>
      Effect.all([service.echo("a"), service.echo("b", { twice: true }), service.echo("c", undefined as never)])
    )
    await Effect.runPromise(Cancellation.own(all))
    assert.deepStrictEqual(seen, [
      ["a", ["signal"], false],
      ["b", ["signal", "twice"], false],
      ["c", ["signal"], false]
    ])
  })

  it("L4, L6: a cancellation aborts the signal with the owner's reason, and is answered when the promise has settled", async () => {
    const controller = new AbortController()
    let seen: unknown
    let settle: () => void = () => {}
    const work = ({ signal }: { signal: AbortSignal }) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener("abort", () => {
          seen = signal.reason
          settle = () => reject(signal.reason)
        })
      })
    let ended = false
    const promise = rejection(
      Abort.toPromise(
        use({ work } as never, (service) => service.work),
        { signal: controller.signal }
      )
    ).finally(() => {
      ended = true
    })
    await turn()
    controller.abort(reason)
    await turn()
    assert.strictEqual(seen, reason)
    assert.isFalse(ended)
    settle()
    assert.strictEqual(await promise, reason)
  })

  it("a rejection is a failure, also what is thrown at once; what answers at once needs no owner", async () => {
    const work = () => {
      throw "thrown"
    }
    const size = async (of?: string) => of?.length ?? -1
    const program = use({ work, size } as never, (service) =>
      Effect.all([Effect.flip(service.work), service.size("four"), service.size()])
    )
    assert.deepStrictEqual(await Effect.runPromise(Cancellation.own(program)), [new Broken("thrown"), 4, -1])
  })

  it("I4: an iterable is returned once, and that is waited for, by whoever takes no more", async () => {
    const log: Array<string> = []
    const count = async function* (from: number, { signal }: { signal: AbortSignal }) {
      try {
        for (let n = from; ; n++) yield n
      } finally {
        await turn()
        log.push(`returned, ${signal.aborted ? "aborted" : "not aborted"}`)
      }
    }
    const taken = use({ count } as never, (service) => Stream.runCollect(Stream.take(service.count(5), 2)))
    assert.deepStrictEqual([...(await Effect.runPromise(Cancellation.own(taken)))], [5, 6])
    assert.deepStrictEqual(log, ["returned, not aborted"])
  })

  it("L4, L6: a cancellation while an element is waited for aborts its signal, and waits for its end", async () => {
    const controller = new AbortController()
    const log: Array<unknown> = []
    const count = async function* (from: number, { signal }: { signal: AbortSignal }) {
      try {
        yield from
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      } catch (error) {
        await turn()
        log.push(error)
        throw error
      }
    }
    const drained = use({ count } as never, (service) =>
      Stream.runForEach(service.count(5), (n) => Effect.sync(() => log.push(n)))
    )
    const promise = rejection(Abort.toPromise(drained, { signal: controller.signal }))
    await turn()
    controller.abort(reason)
    assert.strictEqual(await promise, reason)
    assert.deepStrictEqual(log, [5, reason])
  })

  it("a handle is closed with its scope, also one that comes too late", async () => {
    const controller = new AbortController()
    const log: Array<string> = []
    let give: () => void = () => {}
    const line = () =>
      new Promise((resolve) => {
        give = () => resolve({ number: 7, talk: async () => "hi", close: async () => void log.push("closed") })
      })
    const program = use({ line } as never, (service) => Effect.flatMap(service.line(), (line) => line.talk))
    const first = Effect.runPromise(Cancellation.own(program))
    await turn()
    give()
    assert.strictEqual(await first, "hi")
    assert.deepStrictEqual(log, ["closed"])
    const second = rejection(Abort.toPromise(program, { signal: controller.signal }))
    await turn()
    controller.abort(reason)
    give()
    assert.strictEqual(await second, reason)
    assert.deepStrictEqual(log, ["closed", "closed"])
  })
})
