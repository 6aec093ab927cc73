import { assert, describe, it } from "@effect/vitest"
import { AgentEvent, Content, Session } from "quiesce"
import { Derived } from "../../../src/internal/session/derived.js"
import { Messages } from "../../../src/internal/session/messages.js"
import { sessionScript } from "../../support/sessionScript.js"
import { enveloped } from "../../support/sessionStorage.js"

const started = AgentEvent.SessionStarted.make({ version: AgentEvent.version, agent: "a" })

describe("Derived", () => {
  it("looks at each event once, however often it is asked, and says what a look at all of them says", () => {
    const log = enveloped([started, ...sessionScript(7, 6)])
    let looks = 0
    const counted: Array<AgentEvent.Envelope> = []
    const messages = new Derived(new Messages())
    for (const { event, ...envelope } of log) {
      counted.push({
        ...envelope,
        get event() {
          looks++
          return event
        }
      })
      assert.deepStrictEqual(messages.from(counted), Session.toMessages(log.slice(0, counted.length)))
      messages.from(counted)
    }
    assert.strictEqual(looks, log.length)
  })

  it("what it gave does not change when the log grows", () => {
    const say = (text: string) => AgentEvent.UserMessage.make({ turn: 1, step: 1, content: [Content.text(text)] })
    const log = [...enveloped([say("one")])]
    const messages = new Derived(new Messages())
    const before = messages.from(log)
    log.push(...enveloped([say("two")]))
    assert.lengthOf(messages.from(log), 2)
    assert.lengthOf(before, 1)
  })
})
