import { describe } from "@effect/vitest"
import * as NodeProcess from "quiesce/node/NodeProcess"
import { itKeepsTheContract } from "../support/contracts/process.js"
import { withVariable } from "../support/processes.js"

let worlds = 0

describe("NodeProcess", () => {
  itKeepsTheContract(() => {
    const mark = `${process.pid}-${++worlds}`
    return {
      layer: NodeProcess.layer,
      env: { QUIESCE_CONTRACT: mark },
      stride: 8, // each run starts real processes; the scripted ones are swept without a gap
      alive: () => withVariable(`QUIESCE_CONTRACT=${mark}`)
    }
  })
})
