/**
 * The tools that a plan can call: all that this library has, but for those that start agents.
 */
import * as Toolkit from "../Toolkit.js"
import * as CodeTools from "../tools/CodeTools.js"
import * as FileTools from "../tools/FileTools.js"
import * as HttpTools from "../tools/HttpTools.js"
import * as ProcessTools from "../tools/ProcessTools.js"
import * as TaskTools from "../tools/TaskTools.js"
import * as WorkflowTools from "../tools/WorkflowTools.js"
import { markOf } from "./stillAlive.js"

/** What the tools of one runtime have in common. */
export interface Options {
  /** The folder that commands run in. */
  readonly cwd: string
  /** The time that each tool has for a call. Default: no limit. */
  readonly timeoutMillis?: number | undefined
}

/** The tools of one runtime. */
export const makeToolkit = ({ cwd, timeoutMillis: timeout }: Options) =>
  Toolkit.merge(
    FileTools.make({ timeout }),
    ProcessTools.make({ cwd, timeout, env: markOf }),
    HttpTools.make({ timeout }),
    TaskTools.make({ cwd, timeout }),
    CodeTools.make({ timeout }),
    WorkflowTools.make({ timeout })
  )
