/**
 * A signal that follows others, until it is disposed of.
 *
 * Invariants
 *
 * F1. The first reason stays, and is handed on as the same object (L6).
 * F2. Once it has aborted or was disposed of, nothing of it is on any signal that it followed, and no timer is left (L10).
 * F3. Its own signal is made when it is read, and is aborted by a source, a deadline or `abort`, never by disposal (L10).
 */
import { makeContainedController } from "../abort/containedController.js"
import { onAbort } from "../abortListener.js"

/** @internal */
export class SignalChild {
  private controller: AbortController | undefined
  private stopped: { readonly reason: unknown } | undefined
  private isDisposed = false
  private releases: Array<() => void> = []

  constructor(sources: Iterable<AbortSignal | undefined>) {
    for (const source of new Set(sources)) {
      if (source === undefined) continue
      this.onRelease(onAbort(source, (reason) => this.abort(reason)))
      if (this.stopped !== undefined) return // F1: the others need no listener any more
    }
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = makeContainedController() // F3
      if (this.stopped !== undefined) this.controller.abort(this.stopped.reason)
    }
    return this.controller.signal
  }

  get isAborted(): boolean {
    return this.stopped !== undefined
  }

  /** The first reason is what its signal has: where that was none, the platform's own. */
  abort(reason?: unknown): boolean {
    if (this.isDisposed || this.stopped !== undefined) return false // F1
    this.stopped = { reason }
    this.release() // F2
    this.controller?.abort(reason)
    return true
  }

  dispose(): void {
    this.isDisposed = true
    this.release() // F2
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  /** Calls `release` once this follows nothing any more: now, if that is so. */
  onRelease(release: () => void): void {
    if (this.isDisposed || this.stopped !== undefined) release()
    else this.releases.push(release)
  }

  private release(): void {
    const releases = this.releases
    this.releases = []
    for (const release of releases) release()
  }
}
