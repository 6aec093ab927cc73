// Plays an agent that writes its session, in a process that can be killed. Runs what was built.
//
//   sessionChild.mjs append FILE SCRIPT ACKNOWLEDGED   appends the turns of a script again and again
//   sessionChild.mjs hold FILE                         opens the session, says so, and stays
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as NodeSession from "quiesce/node/NodeSession"

const [mode, file, script, acknowledged] = process.argv.slice(2)

const append = (session) => {
  const text = fs.readFileSync(script, "utf8")
  const log = fs.openSync(acknowledged, "a")
  const run = `${process.pid}-`
  for (let round = 0; ; round++) {
    const { events: known, firstTurn } = { events: session.events().length, firstTurn: session.position().turn }
    // The script counts from 1: what it numbers and names is moved behind what there is.
    const unique = (id) => `${run}${round}-${id}`
    const events = JSON.parse(text.replace(/"(call_\d+)"/g, (_, id) => JSON.stringify(unique(id))))
    for (const event of events) {
      const moved = { ...event }
      if ("turn" in moved) moved.turn += firstTurn
      if ("ids" in moved) moved.ids = moved.ids.map(unique)
      if ("message" in moved && moved._tag === "InputQueued")
        moved.message = { ...moved.message, id: unique(moved.message.id) }
      if (moved._tag === "UserMessage" && "id" in moved) moved.id = unique(moved.id)
      // The first event of the script has the number 2.
      if ("chunkSeqs" in moved) moved.chunkSeqs = moved.chunkSeqs.map((seq) => seq - 1 + known)
      const { seq } = session.append(moved)
      fs.writeSync(log, `${seq}\n`)
    }
  }
}

const hold = () => {
  process.stdout.write("open\n")
  setInterval(() => {}, 1000)
}

const program = Effect.flatMap(NodeSession.make({ file, sync: "never" }), (session) =>
  Effect.zipRight(
    Effect.sync(() => (mode === "append" ? append(session) : hold())),
    Effect.never
  )
).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)))

Effect.runPromise(program).catch((error) => {
  process.stdout.write(`${error.message}\n`)
})
