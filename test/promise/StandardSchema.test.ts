import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { StandardSchema } from "quiesce/promise"
import * as z from "zod"
import * as mini from "zod/mini"

/** A schema that somebody has written by hand. */
const handMade: StandardSchema<string, number> = {
  "~standard": {
    version: 1,
    vendor: "by hand",
    validate: (value) => (typeof value === "string" ? { value: value.length } : { issues: [{ message: "no text" }] })
  }
}

describe("StandardSchema", () => {
  it("is what the schemas of libraries are", () => {
    const all: ReadonlyArray<StandardSchema> = [
      z.object({ text: z.string() }),
      mini.object({ text: mini.string() }),
      Schema.standardSchemaV1(Schema.Struct({ text: Schema.String })),
      handMade
    ]
    for (const schema of all) assert.strictEqual(schema["~standard"].version, 1)
  })
})
