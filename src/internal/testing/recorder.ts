/**
 * Keeps the timeline of a run, for people, if that is asked for.
 */
import type { ControlledFiber } from "./driver.js"
import type { Entry } from "./run.js"

/** @internal */
export class Recorder {
  readonly timeline: Array<Entry> = []
  isOn: boolean
  private readonly spans = new Map<string, string>()

  constructor(isOn: boolean) {
    this.isOn = isOn
  }

  add(step: number, kind: Entry["kind"], label: string, text: string): void {
    if (this.isOn) this.timeline.push({ step, label, text, kind, masked: false })
  }

  step(step: number, fiber: ControlledFiber, op: string): void {
    if (!this.isOn) return
    this.timeline.push({ step, label: fiber.label, text: op, kind: "step", masked: fiber.isMasked })
    const { span } = fiber
    if (span === undefined || this.spans.get(fiber.label) === span) return
    this.spans.set(fiber.label, span)
    this.add(step, "note", fiber.label, `span ${span}`)
  }
}
