/**
 * Tools that work on the files of a workspace: whatever `FileSystem` they are given, and nothing out of its root.
 *
 * Each is one or a few operations of `FileSystem`, so a call that is cancelled is answered when the operation has stopped:
 * `docs/inventory.md` lists which, and where each commits.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Cancellation } from "../Cancellation.js"
import * as FileSystem from "../capability/FileSystem.js"
import * as Search from "../internal/tools/search.js"
import * as Tool from "../Tool.js"
import * as Toolkit from "../Toolkit.js"

/**
 * What all of these tools have in common.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The time for one call of each tool. Default: no limit. */
  readonly timeout?: Duration.DurationInput | undefined
}

const path = Schema.String.annotations({ description: "A path in the workspace" })

/**
 * `read_file`: a text file, as a whole.
 *
 * @since 0.1.0
 * @category constructors
 */
export const readFile = (options: Options = {}) =>
  Tool.make("read_file", {
    description: "Reads a text file of the workspace",
    parameters: { path },
    success: Schema.String,
    failure: FileSystem.FileSystemError,
    timeout: options.timeout,
    concurrency: "parallel",
    handler: ({ path }) => FileSystem.readText(path)
  })

/**
 * `list_files`: the entries of one folder.
 *
 * @since 0.1.0
 * @category constructors
 */
export const listFiles = (options: Options = {}) =>
  Tool.make("list_files", {
    description: "Lists the entries of a folder of the workspace",
    parameters: { path: Schema.optionalWith(path, { default: () => "." }) },
    success: Schema.Array(FileSystem.Entry),
    failure: FileSystem.FileSystemError,
    timeout: options.timeout,
    concurrency: "parallel",
    handler: ({ path }) => FileSystem.list(path)
  })

/**
 * `write_file`: a text file, as a whole or not at all.
 *
 * @since 0.1.0
 * @category constructors
 */
export const writeFile = (options: Options = {}) =>
  Tool.make("write_file", {
    description: "Writes a text file of the workspace, as a whole or not at all",
    parameters: { path, text: Schema.String },
    success: Schema.Struct({ path: Schema.String }),
    failure: FileSystem.FileSystemError,
    timeout: options.timeout,
    handler: ({ path, text }) => Effect.as(FileSystem.writeText(path, text), { path })
  })

const edit = Schema.Struct({
  find: Schema.NonEmptyString.annotations({ description: "The exact text to replace. It must stand there once" }),
  replace: Schema.String,
  all: Schema.optionalWith(Schema.Boolean, { default: () => false }).annotations({
    description: "Replaces it everywhere"
  })
})

/**
 * `edit_file`: exact replacements in a text file, all of them or none.
 *
 * @since 0.1.0
 * @category constructors
 */
export const editFile = (options: Options = {}) =>
  Tool.make("edit_file", {
    description: "Replaces exact texts in a text file of the workspace, all of them or none",
    parameters: { path, edits: Schema.NonEmptyArray(edit) },
    success: Schema.Struct({ path: Schema.String, edits: Schema.Number }),
    failure: FileSystem.FileSystemError,
    timeout: options.timeout,
    handler: ({ edits, path }) => Effect.as(FileSystem.editText(path, edits), { path, edits: edits.length })
  })

/**
 * What `search_files` finds.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Match = Schema.Struct({ path: Schema.String, line: Schema.Number, text: Schema.String })

/**
 * `search_files`: the lines that contain a text. It stops between two files.
 *
 * The text is looked for as it is, never as a regular expression: one that backtracks could not be stopped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const searchFiles = (options: Options = {}) =>
  Tool.make("search_files", {
    description:
      "Finds the lines that contain a text, in the text files below a folder. Hidden folders, node_modules and files above 1 MiB are left out",
    parameters: {
      text: Schema.NonEmptyString.annotations({ description: "What to look for, as it is: no regular expression" }),
      path: Schema.optionalWith(path, { default: () => "." }),
      // A pattern is tried on each file, in time that is proportional to its length.
      files: Schema.optional(Schema.NonEmptyString.pipe(Schema.maxLength(1000))).annotations({
        description: "Only files whose path matches this, such as **/*.ts: * is anything but a slash, ** anything"
      }),
      ignoreCase: Schema.optionalWith(Schema.Boolean, { default: () => false })
    },
    success: Schema.Struct({
      matches: Schema.Array(Match),
      /** Whether there is more than is shown. */
      isTruncated: Schema.Boolean
    }),
    failure: FileSystem.FileSystemError,
    timeout: options.timeout,
    concurrency: "parallel",
    handler: (query): Effect.Effect<Search.Found, FileSystem.FileSystemError, FileSystem.FileSystem | Cancellation> =>
      Search.search(query)
  })

/**
 * All of them.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { FileTools } from "quiesce/tools"
 *
 * assert.deepStrictEqual([...FileTools.make().tools.keys()], [
 *   "read_file",
 *   "list_files",
 *   "write_file",
 *   "edit_file",
 *   "search_files"
 * ])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}) =>
  Toolkit.make(readFile(options), listFiles(options), writeFile(options), editFile(options), searchFiles(options))
