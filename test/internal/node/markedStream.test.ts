import { assert, describe, it } from "@effect/vitest"
import { MarkedStream } from "../../../src/internal/node/markedStream.js"
import { Output } from "../../../src/internal/node/output.js"

const mark = "<nonce 1 end "

/** Feeds a stream in pieces of a size. Gives the output before the mark, and the value in it. */
const read = (text: string, size: number) => {
  const stream = new MarkedStream()
  const output = new Output(1000)
  let value: string | undefined
  stream.await(mark, output, (found) => {
    value = found
  })
  for (let at = 0; at < text.length; at += size) stream.add(Buffer.from(text.slice(at, at + size)))
  return { value, text: output.text, received: output.received }
}

describe("MarkedStream", () => {
  it("finds a mark wherever it is cut, and gives what comes before it", () => {
    for (let size = 1; size < 30; size++) {
      assert.deepInclude(read(`out < <nonce 1 ${mark}137>more`, size), { value: "137", text: "out < <nonce 1 " })
      assert.deepInclude(read(`${mark}0>`, size), { value: "0", text: "" })
    }
  })

  it("a forged mark is output, and what follows it is not kept for ever", () => {
    for (const forged of [`${mark}x`, `${mark}1234>`, `${mark}>`, `${mark}-1>`]) {
      for (const size of [1, 7, 100_000]) {
        const more = "y".repeat(100_000)
        assert.deepInclude(read(`${forged}${more}${mark}3>`, size), {
          value: "3",
          received: forged.length + more.length
        })
      }
    }
  })
})
