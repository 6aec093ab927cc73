/**
 * Virtual time as the `Clock` of a program.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Settlement } from "../settlement.js"
import type { VirtualTime } from "./virtualTime.js"

/** @internal */
export class VirtualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private readonly time: VirtualTime

  constructor(time: VirtualTime) {
    this.time = time
  }

  unsafeCurrentTimeMillis(): number {
    return this.time.now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.time.now) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())

  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.suspend(() => {
      let forget = (): void => {}
      const wait = Effect.suspend(() => {
        const settlement = new Settlement<void>()
        forget = this.time.sleep(Duration.toMillis(duration), () => settlement.settle())
        return settlement.wait()
      })
      return Effect.onInterrupt(wait, () => Effect.sync(() => forget()))
    })
  }
}
