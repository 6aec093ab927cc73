import { assert, describe, it } from "@effect/vitest"
import { Members } from "../../../src/internal/cancellation/members.js"

const listed = (members: Members<number>): ReadonlyArray<number> => {
  const all: Array<number> = []
  members.each((member) => void all.push(member))
  return all.sort((a, b) => a - b)
}

describe("Members", () => {
  it("keeps few and many alike", () => {
    for (const n of [0, 1, 2, 16, 17, 100]) {
      const members = new Members<number>()
      const numbers = Array.from({ length: n }, (_, i) => i)
      for (const i of numbers) members.add(i)
      assert.deepStrictEqual(listed(members), numbers)
      for (const i of numbers) assert.isTrue(members.remove(i))
      assert.isFalse(members.remove(0))
      assert.isTrue(members.isEmpty)
    }
  })

  it("tells those who are there, although they leave while they are told", () => {
    const members = new Members<number>()
    for (const i of [1, 2, 3]) members.add(i)
    const told: Array<number> = []
    members.each((member) => {
      told.push(member)
      members.remove(member)
      members.add(member + 10)
    })
    assert.deepStrictEqual(told, [1, 2, 3])
    assert.deepStrictEqual(listed(members), [11, 12, 13])
  })

  it("leaving costs the same however many there are", () => {
    const members = new Members<number>()
    for (let i = 0; i < 200_000; i++) members.add(i)
    for (let i = 0; i < 200_000; i++) members.remove(i) // quadratic: minutes
    assert.isTrue(members.isEmpty)
  })
})
