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

/** @internal */
export class SpillFolder {
  private folder: string | undefined
  private files = 0

  /** Opens a new file for writing. */
  open(): { readonly path: string; readonly descriptor: number } {
    this.folder ??= fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-output-")) // its mode is 0700
    const file = path.join(this.folder, `${++this.files}.txt`)
    return { path: file, descriptor: fs.openSync(file, "wx", 0o600) }
  }

  /** Removes the folder and what is in it. */
  remove(): void {
    if (this.folder !== undefined) fs.rmSync(this.folder, { recursive: true, force: true })
    this.folder = undefined
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
    if (this.isOpen && this.file !== undefined) fs.closeSync(this.file.descriptor)
    this.isOpen = false
  }

  remove(): void {
    this.close()
    if (this.file !== undefined) fs.rmSync(this.file.path, { force: true })
    this.file = undefined
  }
}
