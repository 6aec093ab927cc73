/**
 * Reads what a person types: lines, answers to questions, Ctrl-C and the end of the input.
 *
 * On a terminal there is a prompt, which what is written by others goes above. Ctrl-C is then a key and no signal: it
 * reaches nobody but us.
 */
import * as readline from "node:readline"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { Output, Region } from "./output.js"
import { oneLine } from "./text.js"

/** What comes from a person. */
export type Input =
  | { readonly _tag: "Line"; readonly line: string }
  | { readonly _tag: "Interrupt" }
  /** There will be no more. */
  | { readonly _tag: "End" }
  /** Not from a person: the program is to end. */
  | { readonly _tag: "Leave" }

/** What a person is asked. */
export interface Question {
  /** The prompt, in one line. */
  readonly text: string
  /** What is written above it when it is shown. */
  readonly above?: string
}

/** Where a person types. */
export interface Terminal {
  readonly inputs: Queue.Queue<Input>
  /**
   * Asks, and waits for the line that is typed next: `undefined` where there will be none. An interruption withdraws the
   * question.
   */
  readonly ask: (question: Question) => Effect.Effect<string | undefined>
  /** Says in the prompt what is going on. */
  readonly setStatus: (status: string) => void
  /** Reads no more: the terminal is as it was, and Ctrl-C a signal. */
  readonly close: Effect.Effect<void>
}

/** The streams of a terminal, as a process has them. */
export interface Streams {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
}

/** Makes the key Ctrl-C what it is elsewhere. */
export const signalInterrupt = (): void => {
  process.kill(process.pid, "SIGINT")
}

/** The questions that wait for a line, in the order in which they were asked: the first one is shown. */
class Questions {
  private readonly waiting: Array<Question & { readonly answer: Deferred.Deferred<string | undefined> }> = []
  private told: Question | undefined
  isOver = false

  get shown(): string | undefined {
    return this.waiting[0]?.text
  }

  /** What is to be written above the question that is shown, once. */
  takeAbove(): string | undefined {
    const [first] = this.waiting
    if (first === this.told) return undefined
    this.told = first
    return first?.above
  }

  /** Whether somebody waited for the line. */
  answer(line: string): boolean {
    const question = this.waiting.shift()
    if (question === undefined) return false
    Deferred.unsafeDone(question.answer, Effect.succeed(line))
    return true
  }

  end(): void {
    this.isOver = true
    for (const { answer } of this.waiting.splice(0)) Deferred.unsafeDone(answer, Effect.succeed(undefined))
  }

  ask(asked: Question, onChange: () => void): Effect.Effect<string | undefined> {
    return Effect.suspend(() => {
      if (this.isOver) return Effect.succeed(undefined)
      return Effect.flatMap(Deferred.make<string | undefined>(), (answer) => {
        const question = { ...asked, answer }
        this.waiting.push(question)
        onChange()
        const withdraw = Effect.sync(() => {
          const at = this.waiting.indexOf(question)
          if (at !== -1) this.waiting.splice(at, 1)
          onChange()
        })
        return Effect.ensuring(Deferred.await(answer), withdraw)
      })
    })
  }
}

/** Reads until the scope closes, after which the terminal is as it was. Ctrl-C is an input, unless it is taken here. */
export const open = (
  output: Output,
  { stdin: input, stdout: screen }: Streams,
  onInterrupt?: () => void
): Effect.Effect<Terminal, never, Scope.Scope> =>
  Effect.gen(function* () {
    const inputs = yield* Queue.unbounded<Input>()
    const questions = new Questions()
    const isTerminal = input.isTTY === true && output.isTerminal
    let status = ""
    const reader = yield* Effect.acquireRelease(
      Effect.sync(() =>
        readline.createInterface({ input, output: isTerminal ? screen : undefined, terminal: isTerminal })
      ),
      (reader) => Effect.sync(() => reader.close())
    )
    const prompt: Region = {
      erase: () => {
        readline.moveCursor(screen, 0, -reader.getCursorPos().rows)
        readline.cursorTo(screen, 0)
        readline.clearScreenDown(screen)
        // It goes up by the rows that it had when it draws again. They are gone: what is above is not its own.
        Object.assign(reader, { prevRows: 0 })
      },
      draw: () => {
        reader.setPrompt(oneLine(questions.shown ?? `${status}> `))
        reader.prompt(true)
      }
    }
    const tellAbove = (): void => {
      const above = questions.takeAbove()
      if (above !== undefined) output.complain(above)
    }
    const redraw = (): void => {
      if (isTerminal && !questions.isOver) {
        prompt.erase()
        prompt.draw()
      }
      tellAbove()
    }
    reader.on("line", (line) => {
      if (!questions.answer(line)) Queue.unsafeOffer(inputs, { _tag: "Line", line })
      if (isTerminal) prompt.draw()
      tellAbove()
    })
    reader.on("SIGINT", onInterrupt ?? (() => void Queue.unsafeOffer(inputs, { _tag: "Interrupt" })))
    reader.on("close", () => {
      questions.end()
      output.setPrompt(undefined)
      Queue.unsafeOffer(inputs, { _tag: "End" })
    })
    if (isTerminal) output.setPrompt(prompt)
    return {
      inputs,
      ask: (question) => {
        if (!isTerminal) output.complain(question.text)
        return questions.ask(question, redraw)
      },
      setStatus: (text) => {
        if (status === text) return
        status = text
        redraw()
      },
      close: Effect.sync(() => reader.close())
    }
  })
