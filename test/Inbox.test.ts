import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Content, Inbox } from "quiesce"

const item = (id: string, target: Inbox.Target): Inbox.Item => ({
  message: { id, content: [Content.text(id)] },
  target,
  wakes: true
})

const ids = (items: ReadonlyArray<Inbox.Item>): ReadonlyArray<string> => items.map(({ message }) => message.id)

const inboxOf = (targets: ReadonlyArray<Inbox.Target>): Inbox.Inbox =>
  targets.map((target, i) => item(`m${i}`, target)).reduce(Inbox.add, Inbox.empty)

describe("Inbox", () => {
  it("the first step of a turn reads what waits for a step, then one message of its own; later steps read no other", () => {
    const inbox = inboxOf(["turn", "step", "turn", "step"])
    const [first, rest] = Inbox.claim(inbox, { isFirstStep: true })
    assert.deepStrictEqual(ids(first), ["m1", "m3", "m0"])
    assert.deepStrictEqual(ids(Inbox.items(rest)), ["m2"])
    const [later, left] = Inbox.claim(inbox, { isFirstStep: false })
    assert.deepStrictEqual(ids(later), ["m1", "m3"])
    assert.deepStrictEqual(ids(Inbox.items(left)), ["m0", "m2"])
    assert.deepStrictEqual(Inbox.claim(Inbox.empty, { isFirstStep: true }), [[], Inbox.empty])
  })

  it("what is put back is where it was, before what came later: nothing is lost or doubled", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<Inbox.Target>("step", "turn")), fc.boolean(), (targets, isFirstStep) => {
        const inbox = inboxOf(targets)
        const [claimed, rest] = Inbox.claim(inbox, { isFirstStep })
        assert.strictEqual(claimed.length + Inbox.size(rest), targets.length)
        const later = Inbox.add(rest, item("later", "turn"))
        assert.deepStrictEqual(Inbox.putBack(later, claimed), Inbox.add(inbox, item("later", "turn")))
      })
    )
  })
})
