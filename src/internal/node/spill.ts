/**
 * Where output goes that is more than is kept in memory: one file for each stream that overflows, in one folder that only
 * this user may enter.
 *
 * It is written in the step in which the output is read, so that no write is under way when a command has ended (L3), and
 * a command that writes faster than the disk takes it has to wait.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Cause from "effect/Cause"
import { report } from "../report.js"
import type { Origin } from "../startFiber.js"
import { attempt } from "./processTable.js"

/** Whoever removes is in the middle of ending something else, which must not fail by it. */
const remove = (file: string, what: string, origin: Origin): void => {
  try {
    fs.rmSync(file, { recursive: true, force: true })
  } catch (error) {
    report(`${what} ${file} could not be removed: remove it by hand`, Cause.die(error), origin)
  }
}

/** @internal */
export class SpillFolder {
  readonly origin: Origin
  private folder: string | undefined
  private files = 0

  /** `origin`: whose loggers are told of what could not be removed. */
  constructor(origin: Origin) {
    this.origin = origin
  }

  /** Opens a new file for writing. */
  open(): { readonly path: string; readonly descriptor: number } {
    this.folder ??= fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-output-")) // its mode is 0700
    const file = path.join(this.folder, `${++this.files}.txt`)
    return { path: file, descriptor: fs.openSync(file, "wx", 0o600) }
  }

  /** Removes the folder and what is in it. */
  remove(): void {
    const { folder } = this
    this.folder = undefined
    if (folder !== undefined) remove(folder, "The folder with output of commands", this.origin)
  }
}

/** @internal */
export class Spill {
  private readonly folder: SpillFolder
  private room: number
  private file: { readonly path: string; readonly descriptor: number } | undefined
  private hasFailed = false
  private isOpen = false

  constructor(folder: SpillFolder, maxBytes: number) {
    this.folder = folder
    this.room = maxBytes
  }

  get path(): string | undefined {
    return this.file?.path
  }

  get hasBegun(): boolean {
    return this.isOpen || this.hasFailed
  }

  write(chunk: Uint8Array): void {
    if (this.hasFailed || this.room <= 0) return
    try {
      this.file ??= this.folder.open()
      this.isOpen = true
      for (let part = chunk.subarray(0, this.room); part.length > 0; ) {
        const written = fs.writeSync(this.file.descriptor, part)
        this.room -= written
        part = part.subarray(written)
      }
    } catch {
      // The disk is full, or there is none to write to. Half a file that looks whole is worse than none.
      this.hasFailed = true
      this.remove()
    }
  }

  close(): void {
    const { file, isOpen } = this
    this.isOpen = false
    if (isOpen && file !== undefined) attempt(() => fs.closeSync(file.descriptor)) // it is closed all the same
  }

  remove(): void {
    this.close()
    const { file } = this
    this.file = undefined
    if (file !== undefined) remove(file.path, "The file with output of a command", this.folder.origin)
  }
}
