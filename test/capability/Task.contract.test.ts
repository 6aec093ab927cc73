import { describe } from "@effect/vitest"
import { Deferred, Effect, FiberId } from "effect"
import { Task } from "quiesce/capability"
import { itKeepsTheContract } from "../support/contracts/task.js"

interface Job {
  readonly end: Deferred.Deferred<void, string>
  task?: Task.Running
}

describe("Task", () => {
  itKeepsTheContract((limits, whenStopped) => {
    const jobs = new Map<string, Job>()
    const running = new Set<string>()
    // A test may tell a task what to do before that has had its first turn.
    const jobOf = (id: string): Job => {
      const job = jobs.get(id) ?? { end: Deferred.unsafeMake<void, string>(FiberId.none) }
      jobs.set(id, job)
      return job
    }
    const ready = (id: string) =>
      Effect.repeat(
        Effect.sync(() => jobOf(id).task !== undefined),
        { until: (isReady) => isReady }
      )
    return {
      layer: Task.layer(limits),
      work: (task) =>
        Effect.acquireUseRelease(
          Effect.sync(() => {
            running.add(task.id)
            const job = jobOf(task.id)
            job.task = task
            return job
          }),
          ({ end }) => Effect.onInterrupt(Deferred.await(end), () => whenStopped),
          () => Effect.sync(() => running.delete(task.id))
        ),
      write: (id, text) =>
        Effect.zipRight(
          ready(id),
          Effect.sync(() => jobOf(id).task?.write(text))
        ),
      complete: (id) => Deferred.succeed(jobOf(id).end, undefined),
      fail: (id, message) => Deferred.fail(jobOf(id).end, message),
      running: () => [...running]
    }
  })
})
