/**
 * Looks from outside at what is still alive of a call, without asking the code that ran it.
 *
 * Each command is given a mark in its environment, which whatever it starts inherits, in its process group or out of it.
 * On Linux the system's own table of processes tells who carries the mark; a program that empties the environment of
 * its children drops it. Elsewhere there is only what the provider of processes knows itself.
 */
import * as fs from "node:fs"
import { liveGroups } from "../internal/node/processGroup.js"
import { lookUp } from "../internal/node/processTable.js"
import type * as ToolResult from "../ToolResult.js"

const variable = "QUIESCE_CALL"

/** The environment that marks the processes of a call. */
export const markOf = (callId: string): Readonly<Record<string, string>> => ({
  [variable]: `${process.pid}/${callId}`
})

const read = (file: string): string => {
  try {
    return fs.readFileSync(file, "latin1")
  } catch {
    return "" // it has ended meanwhile, or belongs to somebody else
  }
}

const pids = (): ReadonlyArray<string> =>
  fs.existsSync("/proc/self/environ") ? fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)) : []

const marked = (callId: string): ReadonlyArray<string> => {
  const mark = Buffer.from(`${variable}=${markOf(callId)[variable]}`).toString("latin1")
  return pids().filter((pid) => read(`/proc/${pid}/environ`).split("\0").includes(mark))
}

/** What is still alive of a call, in words: what carries its mark, and what its result says has escaped. */
export const ofCall = (result: ToolResult.ToolResult): ReadonlyArray<string> => {
  const found = marked(result.callId).flatMap((pid) => {
    const entry = lookUp(pid)
    const isNamed = result.escaped.some((escaped) => escaped.startsWith(`process ${pid} `))
    return entry?.isAlive === true && !isNamed ? [`process ${pid} (${entry.name})`] : []
  })
  return [...result.escaped, ...found]
}

/** The process groups of this program that are still alive, in words. */
export const groups = (): ReadonlyArray<string> => [...liveGroups].map(({ pid }) => `process group ${pid}`)
