import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import * as NodeHttp from "quiesce/node/NodeHttp"
import type { ScriptedHttp } from "quiesce/testing"
import { httpContract, type Setup } from "../support/contracts/http.js"
import { makeFolder } from "../support/folder.js"
import { established, play } from "../support/httpServer.js"

/** Every name is at home here. */
export const here: net.LookupFunction = (_host, options, done) =>
  options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)

const setup: Setup = (server, rules) =>
  Effect.gen(function* () {
    const received: Array<ScriptedHttp.Received> = []
    const port = yield* play(server, received)
    const folder = yield* makeFolder
    const file = path.join(folder, "file")
    return {
      layer: NodeHttp.layer({ ...rules, allowPrivate: ["*.test"], lookup: here, root: folder }),
      url: (host, at) => `http://${host}:${port}${at}`,
      open: () => established(port),
      received: () => received,
      path: file,
      file: () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined),
      putFile: (text) => fs.writeFileSync(file, text),
      staged: () => fs.readdirSync(folder).filter((name) => name !== "file").length
    }
  })

describe("NodeHttp", () => {
  describe("keeps the contract of Http", () => httpContract(setup))
})
