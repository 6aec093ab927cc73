import { describe } from "@effect/vitest"
import { NodeCodeRuntime } from "quiesce/node"
import { itKeepsTheContract } from "../support/contracts/code.js"
import { childrenWithArgument } from "../support/processes.js"

let worlds = 0

describe("NodeCodeRuntime", () => {
  itKeepsTheContract(() => {
    const maxMemoryMb = 100 + ++worlds
    return {
      layer: NodeCodeRuntime.layer,
      maxMemoryMb,
      stride: 8, // each run starts a real process; the scripted ones are swept without a gap
      alive: () => childrenWithArgument(`--max-old-space-size=${maxMemoryMb} `).length
    }
  })
})
