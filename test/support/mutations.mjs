// Takes away, one at a time, lines that uphold laws, and expects the named tests to turn red.
//
//   npm run test:mutations            all of them
//   npm run test:mutations -- owner   those whose file or law contains "owner"
//   npm run test:mutations -- explored --write docs/mutations.md
//                                     and writes what became of them as a page
//   node test/support/mutations.mjs --check
//                                     only whether each line still stands where its entry says
//
// Works in a copy of the tracked files, so the working tree is never touched.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** `find` stands once in `file` and is replaced; `tests` (the one whose name contains `name`) must then fail. */
const mutations = [
  {
    law: "seams H1 closing waits",
    file: "src/internal/promise/seamHost.ts",
    find: "    await Promise.allSettled(this.running)\n",
    replace: "",
    tests: "test/promise/Seam.test"
  },
  {
    law: "seams I1 return waits",
    file: "src/internal/promise/seamStream.ts",
    find: "    await this.running?.catch(() => {}) // I1\n",
    replace: "",
    tests: "test/promise/Seam.test"
  },
  {
    law: "seams I3 nothing behind an abort",
    file: "src/internal/promise/seamStream.ts",
    find: "this.at < this.ready.length && !this.child.isAborted // I3",
    replace: "this.at < this.ready.length",
    tests: "test/promise/Seam.test"
  },
  {
    law: "explored L10 a seam leaves its signal",
    file: "src/internal/promise/seamHost.ts",
    find: "      child.dispose() // L10\n",
    replace: "",
    tests: "test/laws/L10",
    name: "an operation of a seam"
  },
  {
    law: "explored L3 the promise of a body is awaited",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "          : Effect.flatMap(promiseEnd(attempt, attempt.promise, cause), record),",
    replace: "          : record(Exit.failCause(cause)),",
    tests: "test/laws/L03.promise"
  },
  {
    law: "explored P3 what a wrapper put in is gone with it",
    file: "src/internal/promise/callView.ts",
    find: "    this.replacement = undefined",
    replace: "",
    tests: "test/laws/L03.promise"
  },
  {
    law: "promise P2 fused with the signal that a wrapper put in",
    file: "src/internal/promise/policies.ts",
    find: "    if (added !== undefined) owner.follow(added)",
    replace: "",
    tests: "test/promise/Runtime.scenarios"
  },
  {
    law: "promise P1 a next that nobody waits for",
    file: "src/internal/promise/policies.ts",
    find: "  promise.catch(() => {}) // P1",
    replace: "",
    tests: "test/promise/Runtime.scenarios"
  },
  {
    law: "promise R1 settled when the owner has ended",
    file: "src/internal/promise/host.ts",
    find: "        owner.conclude(() => {\n          if (Exit.isSuccess(exit)) resolve(then(exit.value))\n          else reject(Cause.squash(exit.cause))\n        })",
    replace: "        Exit.isSuccess(exit) ? resolve(then(exit.value)) : reject(Cause.squash(exit.cause))",
    tests: "test/promise/Runtime.scenarios"
  },
  {
    law: "promise B3 a body that yields is ended",
    file: "src/internal/promise/body.ts",
    find: "      await iterator.return?.() // B3",
    replace: "      void iterator.return?.()",
    tests: "test/promise/Tool.test"
  },
  {
    law: "promise L3 calls of a body that wait for their turn",
    file: "src/internal/promise/body.ts",
    find: "    attempt.owner.join(member) // L3: also while it waits for its turn",
    replace: "",
    tests: "test/promise/Tool.test"
  },
  {
    law: "promise L10 late use of a context",
    file: "src/internal/promise/body.ts",
    find: "  promise.catch(() => {}) // L10: a body need not wait for its calls",
    replace: "",
    tests: "test/promise/Tool.test"
  },
  {
    law: "promise L14 a signal cannot be removed",
    file: "src/internal/promise/callView.ts",
    find: '    if (!(signal instanceof AbortSignal)) throw new TypeError("the signal of a call can be replaced, and not removed") // L14',
    replace: "",
    tests: "test/promise/Runtime.scenarios"
  },
  {
    law: "signals F1 first reason",
    file: "src/internal/promise/signalChild.ts",
    find: "if (this.isDisposed || this.stopped !== undefined) return false // F1",
    replace: "if (this.isDisposed) return false",
    tests: "test/promise/Signal"
  },
  {
    law: "signals F2 nothing is left after an abort",
    file: "src/internal/promise/signalChild.ts",
    find: "    this.release() // F2\n    this.controller?.abort(reason)",
    replace: "    this.controller?.abort(reason)",
    tests: "test/promise/Signal"
  },
  {
    law: "signals W1 quiet first",
    file: "src/internal/promise/signalWork.ts",
    find: "    if (--this.pending > 0) return // W1",
    replace: "    if (--this.pending > 0 && this.failure === undefined) return",
    tests: "test/promise/Signal"
  },
  {
    law: "signals W2 nothing starts any more",
    file: "src/internal/promise/signalWork.ts",
    find: "        this.isIncomplete = true // W2\n      else this.startOne(work, at)",
    replace: "        this.startOne(work, at)\n      else this.startOne(work, at)",
    tests: "test/promise/Signal"
  },
  {
    law: "nested L12 only from a success",
    file: "src/internal/toolRuntime/nested.ts",
    find: 'result._tag === "Success" && attempt.adopt(result)',
    replace: "attempt.adopt(result)",
    tests: "test/ToolRuntime.nested"
  },
  {
    law: "nested B1 nobody passes",
    file: "src/internal/toolRuntime/nestedLane.ts",
    find: 'if (mode === "exclusive" && this.running > 0) return // B1',
    replace: 'if (mode === "exclusive" && this.running > 0) continue',
    tests: "test/ToolRuntime.nested"
  },
  {
    law: "nested B2 limit",
    file: "src/internal/toolRuntime/nestedLane.ts",
    find: "this.isAlone || this.running >= this.limit",
    replace: "this.isAlone",
    tests: "test/ToolRuntime.nested"
  },
  {
    law: "nested B3 leaves at once",
    file: "src/internal/toolRuntime/nested.ts",
    find: "Effect.onExit(inTurn, () => Effect.sync(() => host.lane.leave(place)))",
    replace: "Effect.tap(inTurn, () => Effect.sync(() => host.lane.leave(place)))",
    tests: "test/ToolRuntime.nested"
  },
  {
    law: "nested L13 logged before it runs",
    file: "src/internal/toolRuntime/callState.ts",
    find: "      this.cancel(CancelCause.parent())\n",
    replace: "",
    tests: "test/ToolRuntime.nested"
  },
  {
    law: "nested L8 repaired",
    file: "src/internal/session/repairs.ts",
    find: "...[...this.nested.values()].reverse().map(",
    replace: "...[...this.nested.values()].map(",
    tests: "test/Session.reopening"
  },
  {
    law: "batch L8 a kept success is fixed",
    file: "src/internal/toolRuntime/callState.ts",
    find: " && !this.isKept // L8: a success that is kept is fixed",
    replace: "",
    tests: "test/ToolRuntime.batch"
  },
  {
    law: "shutdown S1 the first code",
    file: "src/internal/node/wayOut.ts",
    find: "if (this.asked !== undefined) return // S1",
    replace: "",
    tests: "test/internal/node/wayOut"
  },
  {
    law: "shutdown S2 again leaves",
    file: "src/internal/node/wayOut.ts",
    find: 'this.leave(exitCode, "at once") // S2',
    replace: "{}",
    tests: "test/internal/node/wayOut"
  },
  {
    law: "shutdown S3 once",
    file: "src/internal/node/wayOut.ts",
    find: "    if (this.isLeft) return // S3\n    this.isLeft = true",
    replace: "    this.isLeft = true",
    tests: "test/internal/node/wayOut"
  },
  {
    law: "shutdown S4 later",
    file: "src/internal/node/wayOut.ts",
    find: "host.defer(host.dispose) // S4",
    replace: "host.dispose()",
    tests: "test/internal/node/wayOut"
  },
  {
    law: "L7 a time for each call",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "const own = durationOf?.(state.view)",
    replace: "const own = undefined as never",
    tests: "test/ToolRuntime.timeout"
  },
  {
    law: "A1 one listener",
    file: "src/internal/abortListener.ts",
    find: "if (hub === undefined) {",
    replace: "if (hub === undefined || true) {",
    tests: "test/internal/abortListener"
  },
  {
    law: "A2 removed",
    file: "src/internal/abortListener.ts",
    find: 'signal.removeEventListener("abort", listener) // A2',
    replace: "",
    tests: "test/internal/abortListener"
  },
  {
    law: "L3 timer",
    file: "src/internal/timer.ts",
    find: "return () => clearTimeout(handle)",
    replace: "return () => {}",
    tests: "test/internal/timer"
  },
  {
    law: "L1 lossless",
    file: "src/internal/json.ts",
    find: "&& !Object.is(value, -0)",
    replace: "",
    tests: "test/internal/json"
  },
  {
    law: "O1 first cause",
    file: "src/internal/cancellation/owner.ts",
    find: 'if (this.firstCause !== undefined || this.state === "ended") return false',
    replace: 'if (this.state === "ended") return false',
    tests: "test/internal/cancellation"
  },
  {
    law: "O1 inherited",
    file: "src/internal/cancellation/owner.ts",
    find: "if (this.firstCause !== undefined) member.cancelled(this.firstCause) // O1",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "O2 members told",
    file: "src/internal/cancellation/owner.ts",
    find: "this.members.each((member) => member.cancelled(first)) // O2",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "O3 members stopped",
    file: "src/internal/cancellation/owner.ts",
    find: "this.stopMembers() // O3",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "O4 listener",
    file: "src/internal/cancellation/owner.ts",
    find: "this.unlisten?.() // O4",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "O4 parent",
    file: "src/internal/cancellation/owner.ts",
    find: "this.parent?.leave(this) // O4",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "O5 reason",
    file: "src/internal/cancellation/owner.ts",
    find: "if (this.firstCause !== undefined) this.controller.abort(CancelCause.toReason(this.firstCause))",
    replace: "",
    tests: "test/internal/cancellation"
  },
  {
    law: "L6 host's reason",
    file: "src/CancelCause.ts",
    find: 'if (cause._tag === "HostSignal") return cause.reason',
    replace: "",
    tests: "test/Cancellation.test"
  },
  {
    law: "L10 own",
    file: "src/Cancellation.ts",
    find: "return Effect.interruptWith(FiberId.none) // L10: a cancelled owner starts nothing",
    replace: "// L10",
    tests: "test/Cancellation.test"
  },
  {
    law: "L10 operation",
    file: "src/Cancellation.ts",
    find: "if (stopped && RuntimeFlags.interruptible(status.runtimeFlags)) return Effect.interrupt // L10",
    replace: "void [stopped, status, RuntimeFlags]",
    tests: "test/Cancellation.test"
  },
  {
    law: "L14 operation",
    file: "src/Cancellation.ts",
    find: 'if (owner.hasEnded) return Effect.dieMessage(endedMessage(`"${name}"`)) // L14',
    replace: "void name",
    tests: "test/Cancellation.test"
  },
  {
    law: "L5 operation",
    file: "src/Cancellation.ts",
    find: "recordFailures(owner, cause) // L5",
    replace: "",
    tests: "test/ToolRuntime.specific"
  },
  {
    law: "L7 own deadline",
    file: "src/Cancellation.ts",
    find: "owner.cause !== undefined && owner.cause === timing?.cause",
    replace: "owner.cause !== undefined && timing !== undefined",
    tests: "test/Cancellation.test"
  },
  {
    law: "L5 late rejection",
    file: "src/Abort.ts",
    find: "recordFailures(owner, cause) // L5: the next",
    replace: "// L5: the next",
    tests: "test/ToolRuntime.specific"
  },
  {
    law: "L10 fromPromise",
    file: "src/Abort.ts",
    find: "if (owner.cause !== undefined || owner.isEnding) return Effect.interrupt // L10: a cancelled owner starts nothing",
    replace: "",
    tests: "test/Abort.test"
  },
  {
    law: "W3 cancellation",
    file: "src/Abort.ts",
    find: "if (bridge.isCancellation(settled.error)) return Effect.interrupt",
    replace: "",
    tests: "test/Abort"
  },
  {
    law: "B1 awaited",
    file: "src/Abort.ts",
    find: "const after = Effect.flatMap(bridge.settlement.wait(), (settled) =>",
    replace:
      'const after = Effect.flatMap(Effect.succeed<Settled<A>>({ _tag: "Rejected", error: undefined }), (settled) =>',
    tests: "test/Abort"
  },
  {
    law: "B3 member",
    file: "src/internal/abort/bridge.ts",
    find: "this.owner.join(this) // B3",
    replace: "",
    tests: "test/Abort.test"
  },
  {
    law: "L10 toPromise",
    file: "src/Abort.ts",
    find: "return reject(CancelCause.toReason(owner.cause)) // L10: not one operation runs",
    replace: "",
    tests: "test/Abort.test"
  },
  {
    law: "L5 toPromise",
    file: "src/Abort.ts",
    find: "else if (failure !== undefined)",
    replace: "else if (failure !== undefined && false)",
    tests: "test/Abort.test"
  },
  {
    law: "W20 contained",
    file: "src/internal/abort/containedController.ts",
    find: "wrapper = contain(listener)",
    replace: "wrapper = listener as EventListener",
    tests: "test/internal/abort"
  },
  {
    law: "two roads",
    file: "src/internal/cancellation/runOwned.ts",
    find: "if (this.owner.calls === 0 && !this.owner.wasAnswered) return this.stop()",
    replace: "return this.stop()",
    tests: "test/ToolRuntime.race"
  },
  {
    law: "two roads, late",
    file: "src/internal/cancellation/runOwned.ts",
    find: "this.owner.calls === 0 && !this.owner.wasAnswered",
    replace: "this.owner.calls === 0",
    tests: "test/ToolRuntime.race"
  },
  {
    law: "L2 mark",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "state.dispatched = true // L2",
    replace: "// L2",
    tests: "test/ToolRuntime.race"
  },
  {
    law: "L2 early mark",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "const attempt = new Attempt(state, owner)",
    replace: "const attempt = new Attempt(state, owner)\n  state.dispatched = true",
    tests: "test/ToolRuntime"
  },
  {
    law: "L3 children",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "  fiber.addObserver(() => {",
    replace: "  queueMicrotask(() => {",
    tests: "test/ToolRuntime.race"
  },
  {
    law: "L3 quiet",
    file: "src/internal/toolRuntime/driver.ts",
    find: "state.owner.quiesce(() => quiet.settle())",
    replace: "quiet.settle()",
    tests: "test/ToolRuntime.race"
  },
  {
    law: "L5 attempt",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "if (specific !== undefined) {",
    replace: "if (specific !== undefined && owner.cause === undefined) {",
    tests: "test/ToolRuntime.specific"
  },
  {
    law: "L5 only a success",
    file: "src/internal/toolRuntime/driver.ts",
    find: 'if (result._tag === "Failure" || cause === undefined',
    replace: "if (cause === undefined",
    tests: "test/ToolRuntime"
  },
  {
    law: "L10 pending",
    file: "src/internal/toolRuntime/driver.ts",
    find: "if (counts && !Cause.isEmpty(interruption)) this.interrupted(interruption)",
    replace: "",
    tests: "test/ToolRuntime"
  },
  {
    law: "L10 gate",
    file: "src/internal/toolRuntime/intake.ts",
    find: "return cause === undefined ? undefined : {",
    replace: "return cause === undefined || true ? undefined : {",
    tests: "test/ToolRuntime"
  },
  {
    law: "L7 only slow",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "if (isOnlyWrapperSlow(state, bounded))",
    replace: "if (false)",
    tests: "test/ToolRuntime.timeout"
  },
  {
    law: "L7 own timer",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "bounded.cause === expiry ?",
    replace: "bounded.cause !== undefined ?",
    tests: "test/ToolRuntime.timeout"
  },
  {
    law: "L7 failed in time",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "attempt?.outcome !== undefined && attempt.settledInTime",
    replace: "false",
    tests: "test/ToolRuntime.timeout"
  },
  {
    law: "C3 next closed",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "wrapping.isOpen = false // C3",
    replace: "// C3",
    tests: "test/ToolRuntime"
  },
  {
    law: "W8 closed",
    file: "src/internal/toolRuntime/attemptState.ts",
    find: "    this.isOpen = false",
    replace: "",
    tests: "test/Tool"
  },
  {
    law: "L12 contexts",
    file: "src/internal/toolRuntime/results.ts",
    find: "Object.freeze([...attempt.contexts]), // L12",
    replace: "none, // L12",
    tests: "test/ToolRuntime"
  },
  {
    law: "L12 after abort",
    file: "src/internal/toolRuntime/driver.ts",
    find: "{ contexts: result.contexts }) // L12",
    replace: "{})",
    tests: "test/ToolRuntime"
  },
  {
    law: "explored L9 the caller lets go",
    file: "src/internal/handoff/handover.ts",
    find: "this.caller.leave(this.follower) // H1: the commit",
    replace: "// H1: the commit",
    tests: "test/laws/L09",
    name: "around the commit point: rolled back"
  },
  {
    law: "explored L9 no cancel after the commit",
    file: "src/Handoff.ts",
    find: "if (!handover.isCommitted) handover.cancel",
    replace: "handover.cancel",
    tests: "test/laws/L09",
    name: "around the commit point: rolled back"
  },
  {
    law: "H2 no commit after a cancel",
    file: "src/internal/handoff/handover.ts",
    find: "if (this.cause !== undefined) return rollBack(exit, steps.rollback(exit.value)) // H2",
    replace: "",
    tests: "test/Handoff",
    name: "undone by `rollback`"
  },
  {
    law: "explored L9 rolled back before the answer",
    file: "src/internal/handoff/handover.ts",
    find: 'this.ended.whenSettled(() => outcome.settle({ _tag: "RolledBack", started })) // H3',
    replace: 'outcome.settle({ _tag: "RolledBack", started })',
    tests: "test/laws/L09",
    name: "around the commit point: rolled back"
  },
  {
    law: "explored L9 nothing of a task before its commit",
    file: "src/internal/capability/task/table.ts",
    find: "Effect.flatMap(Deferred.await(begin), (id) => work(",
    replace: 'Effect.flatMap(Effect.succeed("task"), (id) => work(',
    tests: "test/laws/L09",
    name: "a task is cancelled around its start"
  },
  {
    law: "explored J1 a place is given back",
    file: "src/internal/capability/task/table.ts",
    find: "if (!isCommitted) this.taken-- // J1",
    replace: "",
    tests: "test/laws/L09",
    name: "a task is cancelled around its start"
  },
  {
    law: "explored K1 settled when it is quiet",
    file: "src/internal/capability/task/record.ts",
    find: "this.exit = exit\n",
    replace: "this.exit = exit\n    this.settle()\n",
    tests: "test/laws/L09",
    name: "a task is killed while it ends"
  },
  {
    law: "C3 last step",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "if (owner.cause !== undefined) return Effect.interrupt // C3",
    replace: "// C3",
    tests: "test/ToolRuntime.telemetry"
  },
  {
    law: "codes of defects",
    file: "src/internal/toolRuntime/results.ts",
    find: "name === undefined || isDefect",
    replace: "name === undefined",
    tests: "test/ToolRuntime.body"
  },
  {
    law: "L5 late defect of a hand-over",
    file: "src/internal/handoff/handover.ts",
    find: "this.recordDefect(Cause.squash(exit.cause))",
    replace: "this.recordFailure(Cause.squash(exit.cause))",
    tests: "test/ToolRuntime.body"
  },
  {
    law: "L5 late defect",
    file: "src/internal/cancellation/classify.ts",
    find: "isDefect: owner.lateDefects.includes(error)",
    replace: "isDefect: false",
    tests: "test/ToolRuntime.body"
  },
  {
    law: "L5 last moment",
    file: "src/internal/toolRuntime/driver.ts",
    find: "const result = this.orCancelled(reviewed)",
    replace: "const result = reviewed",
    tests: "test/ToolRuntime.test"
  },
  {
    law: "cancel in time",
    file: "src/internal/toolRuntime/callState.ts",
    find: "return this.owner.cancel(cause) && isOpen",
    replace: "return this.owner.cancel(cause)",
    tests: "test/ToolRuntime.publish"
  },
  {
    law: "46 own owner",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "return stoppedByItsOwn && given.stoppedBelow !== undefined",
    replace: "return false",
    tests: "test/ToolRuntime.owners"
  },
  {
    law: "46 by itself",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "return stoppedByItsOwn && given",
    replace: "return given",
    tests: "test/ToolRuntime.owners"
  },
  {
    law: "46 noted",
    file: "src/Cancellation.ts",
    find: "if (stopped) noteStop(parent, owner)",
    replace: "",
    tests: "test/ToolRuntime.owners"
  },
  {
    law: "9 frozen",
    file: "src/internal/toolRuntime/freezing.ts",
    find: "Object.freeze(built)",
    replace: "void built",
    tests: "test/ToolRuntime.intake"
  },
  {
    law: "9 shared",
    file: "src/internal/toolRuntime/freezing.ts",
    find: "if (ast.propertySignatures.length + ast.indexSignatures.length === 0) return ast",
    replace: "",
    tests: "test/ToolRuntime.intake"
  },
  {
    law: "two roads, test clock",
    file: "src/internal/timer.ts",
    find: "if (sleeper.unsafePoll() !== null) return startLiveTimer(0, task)",
    replace: "if (sleeper.unsafePoll() !== null) return startTimer(origin, 0, task)",
    tests: "test/ToolRuntime.owners"
  },
  {
    law: "L1 broken clock",
    file: "src/internal/timer.ts",
    find: "Effect.suspend(() => clock.sleep(duration)),\n    () => liveClock.sleep(duration)",
    replace: "Effect.suspend(() => clock.sleep(duration)),\n    Effect.failCause",
    tests: "test/internal/timer"
  },
  {
    law: "L1 contained",
    file: "src/internal/contained.ts",
    find: "if (canBeLookedAt(error)) throw error",
    replace: "throw error",
    tests: "test/internal/contained"
  },
  {
    law: "L3 mapping throws",
    file: "src/Abort.ts",
    find: "return Cause.die(defect)",
    replace: "throw defect",
    tests: "test/Abort.test"
  },
  {
    law: "explored L8 a finished sibling keeps its result",
    file: "src/internal/toolRuntime/driver.ts",
    find: "this.state.isKept = lane.keepsFinished &&",
    replace: "this.state.isKept = false &&",
    tests: "test/laws/L08",
    name: "a batch of two"
  },
  {
    law: "explored L2 mark",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "state.dispatched = true // L2",
    replace: "// L2",
    tests: "test/laws/L02",
    name: "whose policy waits"
  },
  {
    law: "explored L2 early mark",
    file: "src/internal/toolRuntime/attempt.ts",
    find: "const attempt = new Attempt(state, owner)",
    replace: "const attempt = new Attempt(state, owner)\n  state.dispatched = true",
    tests: "test/laws/L02",
    name: "whose policy waits"
  },
  {
    law: "explored L3 quiet",
    file: "src/internal/toolRuntime/driver.ts",
    find: "state.owner.quiesce(() => quiet.settle())",
    replace: "quiet.settle()",
    tests: "test/laws/L03",
    name: "a wrapper stops waiting"
  },
  {
    law: "explored L3 members stopped",
    file: "src/internal/cancellation/owner.ts",
    find: "this.stopMembers() // O3",
    replace: "",
    tests: "test/laws/L03",
    name: "forks a child"
  },
  {
    law: "explored L4 operation awaited",
    file: "src/Cancellation.ts",
    find: "owner.join(running) // inside",
    replace: "void running // inside",
    tests: "test/laws/L04",
    name: "own does not complete"
  },
  {
    law: "explored L5 late rejection",
    file: "src/Abort.ts",
    find: "recordFailures(owner, cause) // L5: the next",
    replace: "// L5: the next",
    tests: "test/laws/L05",
    name: "below mapError"
  },
  {
    law: "explored L5 only a success",
    file: "src/internal/toolRuntime/driver.ts",
    find: 'if (result._tag === "Failure" || cause === undefined',
    replace: "if (cause === undefined",
    tests: "test/laws/L05",
    name: "a review blocks"
  },
  {
    law: "explored L6 first cause",
    file: "src/internal/cancellation/owner.ts",
    find: 'if (this.firstCause !== undefined || this.state === "ended") return false',
    replace: 'if (this.state === "ended") return false',
    tests: "test/laws/L06",
    name: "two fibers and the host"
  },
  {
    law: "explored L6 host's reason",
    file: "src/CancelCause.ts",
    find: 'if (cause._tag === "HostSignal") return cause.reason',
    replace: "",
    tests: "test/laws/L06",
    name: "owners that derive"
  },
  {
    law: "explored L7 only slow",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "if (isOnlyWrapperSlow(state, bounded))",
    replace: "if (false as boolean)",
    tests: "test/laws/L07",
    name: "however slow"
  },
  {
    law: "explored L7 own timer",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "bounded.cause === expiry ?",
    replace: "bounded.cause !== undefined ?",
    tests: "test/laws/L07",
    name: "race with the body"
  },
  {
    law: "explored L10 listener removed",
    file: "src/internal/cancellation/owner.ts",
    find: "this.unlisten?.() // O4",
    replace: "",
    tests: "test/laws/L10",
    name: "two calls at once"
  },
  {
    law: "explored L12 after abort",
    file: "src/internal/toolRuntime/driver.ts",
    find: "{ contexts: result.contexts }) // L12",
    replace: "{})",
    tests: "test/laws/L12",
    name: "survives its abort"
  },
  {
    law: "explored L14 operation",
    file: "src/Cancellation.ts",
    find: 'if (owner.hasEnded) return Effect.dieMessage(endedMessage(`"${name}"`)) // L14',
    replace: "void name",
    tests: "test/laws/L14",
    name: "a daemon of the body"
  },
  {
    law: "explored stages finish",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "followsCancel: !finishes",
    replace: "followsCancel: true",
    tests: "test/laws/stages",
    name: "before and around that are to finish"
  },
  {
    law: "explored L5 JSON first",
    file: "src/internal/toolRuntime/intake.ts",
    find: "return { result: notJson(state, parameters.left), reviewed: false }",
    replace: "return gateCancelled(state) ?? { result: notJson(state, parameters.left), reviewed: false }",
    tests: "test/laws/L05.intake",
    name: "parameters that are not JSON"
  },
  {
    law: "explored L5 cancel before the tool",
    file: "src/internal/toolRuntime/driver.ts",
    find: "gateCancelled(state) ?? decode(state)",
    replace: "decode(state) ?? gateCancelled(state)",
    tests: "test/laws/L05.intake",
    name: "an unknown tool"
  },
  {
    law: "explored L5 cancel before decoding",
    file: "src/internal/toolRuntime/intake.ts",
    find: "return cause === undefined ? undefined : {",
    replace: "return cause === undefined || true ? undefined : {",
    tests: "test/laws/L05.intake",
    name: "that do not decode"
  },
  {
    law: "explored L5 decoded for nobody",
    file: "src/internal/toolRuntime/driver.ts",
    find: "gateCancelled(state) ?? decode(state)",
    replace: "decode(state) ?? gateCancelled(state)",
    tests: "test/laws/L05.intake",
    name: "parameters that decode"
  },
  {
    law: "explored L5 concurrent all",
    file: "src/Abort.ts",
    find: "recordFailures(owner, cause) // L5: the next",
    replace: "// L5: the next",
    tests: "test/laws/L05.specific",
    name: "a concurrent all"
  },
  {
    law: "explored L7 failed in time",
    file: "src/internal/toolRuntime/dispatch.ts",
    find: "attempt?.outcome !== undefined && attempt.settledInTime",
    replace: "false",
    tests: "test/laws/L07",
    name: "over retries"
  },
  {
    law: "explored L10 promise joins",
    file: "src/internal/abort/bridge.ts",
    find: "this.owner.join(this) // B3",
    replace: "",
    tests: "test/laws/L10",
    name: "promise code under"
  },
  {
    law: "explored L14 promise",
    file: "src/Abort.ts",
    find: 'if (owner.hasEnded) return Effect.dieMessage(endedMessage("A promise operation")) // L14',
    replace: "",
    tests: "test/laws/L14",
    name: "not of the call"
  },
  {
    law: "explored L14 view",
    file: "src/internal/toolRuntime/callState.ts",
    find: "this.seen = Object.freeze({",
    replace: "this.seen = ({",
    tests: "test/laws/L14",
    name: "no stage can write"
  },
  {
    law: "Q1 turn",
    file: "src/internal/capability/fileSystem/targetQueue.ts",
    find: "if (this.areInConflict(other, ticket)) ticket.ahead++",
    replace: "void other",
    tests: "test/internal/capability/fileSystem/targetQueue.race",
    name: "three changes of one target"
  },
  {
    law: "Q2 waiter leaves",
    file: "src/internal/capability/fileSystem/targetQueue.ts",
    find: "return Effect.onExit(run, () => Effect.sync(() => this.giveBack(ticket))) // Q2, Q4",
    replace: "return Effect.tap(run, () => Effect.sync(() => this.giveBack(ticket)))",
    tests: "test/internal/capability/fileSystem/targetQueue.race",
    name: "three changes of one target"
  },
  {
    law: "Q2 at once",
    file: "src/internal/capability/fileSystem/targetQueue.ts",
    find: "Effect.flatMap(restore(ticket.turn.wait()), () => use(true)) // Q1",
    replace: "Effect.flatMap(ticket.turn.wait(), () => use(true))",
    tests: "test/internal/capability/fileSystem/targetQueue.race",
    name: "a waiter that is interrupted ends"
  },
  {
    law: "Q2 only those behind",
    file: "src/internal/capability/fileSystem/targetQueue.ts",
    find: "if (other.number < ticket.number || !this.areInConflict(other, ticket)) continue",
    replace: "if (!this.areInConflict(other, ticket)) continue",
    tests: "test/internal/capability/fileSystem/targetQueue.race",
    name: "three changes of one target"
  },
  {
    law: "Q3 not kept",
    file: "src/internal/capability/fileSystem/targetQueue.ts",
    find: "this.tickets.delete(ticket) // Q3",
    replace: "",
    tests: "test/internal/capability/fileSystem/targetQueue.race",
    name: "three changes of one target"
  },
  {
    law: "file turns",
    file: "src/internal/capability/fileSystem/operations.ts",
    find: "if (!hasWaited) return",
    replace: "if (hasWaited || !hasWaited) return",
    tests: "test/testing/MemoryFileSystem",
    name: "changes of other targets do not wait"
  },
  {
    law: "file spellings in order",
    file: "src/internal/capability/fileSystem/operations.ts",
    find: "const drawn = spellings.inTurn(restore, words, () =>",
    replace: "const drawn = new TargetQueue().inTurn(restore, words, () =>",
    tests: "test/testing/MemoryFileSystem",
    name: "also when the platform answers in another"
  },
  {
    law: "W1 versions",
    file: "src/internal/capability/fileSystem/writeText.ts",
    find: "yield* call(fs.utimes(path, later, later)) // W1",
    replace: "void later",
    tests: "test/testing/MemoryFileSystem",
    name: "no version comes again"
  },
  {
    law: "W2 guarded",
    file: "src/internal/capability/fileSystem/writeText.ts",
    find: "writeChunks(platform, at, chunksOf(text), target), mayReplace)",
    replace: "writeChunks(platform, at, chunksOf(text), target), Effect.void)",
    tests: "test/testing/MemoryFileSystem",
    name: "another program changes the file during writeAll"
  },
  {
    law: "explored W2 guarded in turn",
    file: "src/internal/capability/fileSystem/operations.ts",
    find: "const targets = new TargetQueue((one, other) => contains(services, one, other) || contains(services, other, one))",
    replace: "const targets = new TargetQueue(() => false)",
    tests: "test/capability/FileSystem.race",
    name: "two guarded writes of one target"
  },
  {
    law: "F3 before the commit point",
    file: "src/internal/capability/fileSystem/problem.ts",
    find: "Effect.zipRight(restore(Effect.void), finish(self)) // L3, L4",
    replace: "finish(self)",
    tests: "test/testing/MemoryFileSystem",
    name: "writeText over a file"
  },
  {
    law: "F4 nothing staged is left",
    file: "src/internal/capability/fileSystem/staging.ts",
    find: "const discard = ({ finish, fs }: Platform",
    replace: "const discard = ({ call: finish, fs }: Platform",
    tests: "test/testing/MemoryFileSystem",
    name: "writeText over a file"
  },
  {
    law: "links are not followed",
    file: "src/internal/capability/fileSystem/remove.ts",
    find: "mustBeReal(platform, path.dirname(entry)),",
    replace: "Effect.void,",
    tests: "test/testing/MemoryFileSystem",
    name: "a link that is swapped in for a folder"
  },
  {
    law: "held D1 what was found",
    file: "src/internal/node/fileSystem/byDescriptor.ts",
    find: "yield* byDescriptor.mustStay(platform, folder, real) // D1",
    replace: "",
    tests: "test/node/NodeFileSystem.race",
    name: "readText: a link that takes the place"
  },
  {
    law: "held D2 no link on the way",
    file: "src/internal/node/fileSystem/descriptor.ts",
    find: "pathOnly | O_DIRECTORY | O_NOFOLLOW",
    replace: "pathOnly | O_DIRECTORY",
    tests: "test/node/NodeFileSystem.race",
    name: "takes the place of a staging folder"
  },
  {
    law: "held D3 what was looked at",
    file: "src/internal/node/fileSystem/byDescriptor.ts",
    find: 'fs.open(Descriptor.pathOf(descriptor), { flag: "r" })',
    replace: 'fs.open(at, { flag: "r" })',
    tests: "test/node/NodeFileSystem.race",
    name: "a pipe that takes the place of a file"
  },
  {
    law: "held F5 still there",
    file: "src/internal/capability/fileSystem/staging.ts",
    find: "yield* reach.mustStay(platform, held, folder)",
    replace: "",
    tests: "test/node/NodeFileSystem.race",
    name: "says so where it cannot"
  },
  {
    law: "held no wait for a pipe",
    file: "src/internal/node/fileSystem/disk.ts",
    find: "r: O_RDONLY | (O_NONBLOCK ?? 0)",
    replace: "r: O_RDONLY",
    tests: "test/node/NodeFileSystem.race",
    name: "nodeByPath"
  },
  {
    law: "L3 streams in clean-up",
    file: "src/internal/capability/fileSystem/ownedStream.ts",
    find: "passage.close()",
    replace: "",
    tests: "test/testing/MemoryFileSystem",
    name: "clean-up in a protected region can stream"
  },
  {
    law: "explored D3 no chunk after a cancel",
    file: "src/internal/capability/model/delivery.ts",
    find: "if (this.owner.cause !== undefined) return Effect.zipRight(this.ended.wait(), Effect.interrupt) // D3",
    replace: "",
    tests: "test/capability/Model.race",
    name: "a piece of several chunks"
  },
  {
    law: "Http L3 closed first",
    file: "src/internal/capability/http/service.ts",
    find: "Effect.ensuring(used, conversation.close)",
    replace: "used",
    tests: "test/testing/ScriptedHttp",
    name: "a status that is no success"
  },
  {
    law: "Http H1 close awaited",
    file: "src/internal/capability/http/conversation.ts",
    find: "Effect.zipRight(finalised, exchange.closed.wait())",
    replace: "Effect.asVoid(finalised)",
    tests: "test/capability/Http.race",
    name: "its time, a cancel and the answer"
  },
  {
    law: "Http H4 source finalised",
    file: "src/internal/capability/http/conversation.ts",
    find: "upload === undefined ? Effect.void : Fiber.interrupt(upload)",
    replace: "Effect.succeed(upload)",
    tests: "test/capability/Http.race",
    name: "an upload that fails"
  },
  {
    law: "Http H3 time is over",
    file: "src/internal/capability/http/conversation.ts",
    find: "const refused = this.timeIsOver ?? this.transport.admit(outgoing.url)",
    replace: "const refused = this.transport.admit(outgoing.url)",
    tests: "test/capability/Http.test",
    name: "H3: when its time is over"
  },
  {
    law: "Http H4 timer",
    file: "src/internal/capability/http/conversation.ts",
    find: "this.stopAll()\n    this.disarm?.() // H4",
    replace: "this.stopAll()",
    tests: "test/testing/ScriptedHttp",
    name: "leaves no timer"
  },
  {
    law: "Http L3 owner",
    file: "src/internal/capability/http/conversation.ts",
    find: "this.owner?.join(this)",
    replace: "",
    tests: "test/testing/ScriptedHttp",
    name: "an owner does not end before a response"
  },
  {
    law: "Http H1 redirect",
    file: "src/internal/capability/http/service.ts",
    find: "yield* conversation.drop // H1",
    replace: "",
    tests: "test/testing/ScriptedHttp",
    name: "that a redirect has led it to"
  },
  {
    law: "Http X2 look-up awaited",
    file: "src/internal/node/http/exchange.ts",
    find: "if (!this.isOpen && this.lookups === 0)",
    replace: "if (!this.isOpen)",
    tests: "test/node/NodeHttp",
    name: "a name that is being looked up"
  },
  {
    law: "Http X5 address",
    file: "src/internal/node/http/exchange.ts",
    find: "refused === undefined ? null : new Refused(refused)",
    replace: "null",
    tests: "test/node/NodeHttp",
    name: "its address then, not before, decides"
  },
  {
    law: "Http X6 reset",
    file: "src/internal/node/http/exchange.ts",
    find: "raw.resetAndDestroy() // X6",
    replace: "raw.destroy()",
    tests: "test/node/NodeHttp",
    name: "in the middle of an upload"
  },
  {
    law: "Http G3 staging",
    file: "src/internal/capability/http/service.ts",
    find: ".pipe(Effect.tapErrorCause(() => staging.discard))",
    replace: "",
    tests: "test/node/NodeHttp",
    name: "download closes its connection first, in the middle of the body"
  },
  {
    law: "explored L3 run stops its tree",
    file: "src/internal/capability/process/run.ts",
    find: "tree.stop() // L3",
    replace: "",
    tests: "test/laws/L09.processes",
    name: "while it runs and while it ends"
  },
  {
    law: "explored L9 scope holds the process",
    file: "src/internal/capability/process/background.ts",
    find: "Effect.addFinalizer(() => end),",
    replace: "Effect.void,",
    tests: "test/laws/L09.processes",
    name: "around its commit point"
  },
  {
    law: "explored S1 the shell for itself",
    file: "src/internal/capability/process/session.ts",
    find: "this.slot.use(this.runInSlot(command, millis)) // S1",
    replace: "this.runInSlot(command, millis)",
    tests: "test/laws/L09.processes",
    name: "the shell for itself"
  },
  {
    law: "explored S2 stops its command",
    file: "src/internal/capability/process/session.ts",
    find: "foreground.stop() // S2",
    replace: "",
    tests: "test/laws/L09.processes",
    name: "the shell for itself"
  },
  {
    law: "S3 nothing sent to what has ended",
    file: "src/internal/capability/process/session.ts",
    find: 'if (this.life.status._tag === "Ended") return this.ended // S3',
    replace: "",
    tests: "test/node/NodeProcess.session",
    name: "cannot be stopped otherwise"
  },
  {
    law: "M1 only who carries the mark",
    file: "src/internal/node/marked.ts",
    find: "return marks.includes(this.mark) // M1",
    replace: 'return line !== ""',
    tests: "test/node/NodeProcess.containment",
    name: "another marked command"
  },
  {
    law: "M2 asked once",
    file: "src/internal/node/marked.ts",
    find: "|| this.told.get(keyOf(entry)) === urgency) return // M2",
    replace: ") return",
    tests: "test/node/NodeProcess.containment",
    name: "not asked again"
  },
  {
    law: "P3 no number of somebody else",
    file: "src/internal/node/processTree.ts",
    find: "if (!this.groupIsGone) this.toGroup(name)",
    replace: "this.toGroup(name)",
    tests: "test/node/NodeProcess.containment",
    name: "no signal at all"
  },
  {
    law: "F2 what comes after is interrupted",
    file: "src/internal/node/foreground.ts",
    find: 'if (hasNewcomers && this.stoppedBy === "SIGINT") this.sendInterrupt() // F2',
    replace: "",
    tests: "test/node/NodeProcess.session",
    name: "child by child"
  },
  {
    law: "F3 a line that an interrupt has cut is printed again",
    file: "src/internal/node/foreground.ts",
    find: "if (isTimeToRepeat(looks)) ",
    replace: "if (looks < 0) ",
    tests: "test/node/NodeProcess.session",
    name: "loses the line"
  },
  {
    law: "F3 not what ran before",
    file: "src/internal/node/foreground.ts",
    find: ".filter((entry) => !isIn(this.before, entry))",
    replace: "",
    tests: "test/node/NodeProcess.session",
    name: "is left alone"
  },
  {
    law: "L3 no file of a cancelled command",
    file: "src/internal/capability/process/run.ts",
    find: "discard() // L3: nobody gets the paths",
    replace: "",
    tests: "test/node/NodeProcess.output",
    name: "files live as long"
  },
  {
    law: "agent M5 no step cut in two",
    file: "src/internal/agent/machine.ts",
    find: "if (this.isAppending) {",
    replace: "if (this.isAppending && false) {",
    tests: "test/Agent.log"
  },
  {
    law: "agent M6 owed",
    file: "src/internal/agent/machine.ts",
    find: "if (!isHopeless(error)) this.owed = [...this.owed, event] // M6",
    replace: "",
    tests: "test/Agent.log",
    name: "whichever append fails"
  },
  {
    law: "agent M1 atomic",
    file: "src/internal/agent/turn.ts",
    find: "    const inside = machine.step(() => {",
    replace: "    const inside = ((run) => run())(() => {",
    tests: "test/Agent.log"
  },
  {
    law: "agent L8 ids of calls",
    file: "src/internal/agent/callIds.ts",
    find: 'while (own === "" || this.used.has(own))',
    replace: "while (own.length < 0)",
    tests: "test/Agent.hostile"
  },
  {
    law: "agent T1 read once",
    file: "src/internal/agent/turn.ts",
    find: 'machine.dispatch({ _tag: "Read", ids: read }) // T1: of those, none comes back',
    replace: "",
    tests: "test/Agent.test"
  },
  {
    law: "agent F4 shown",
    file: "src/internal/session/messages.ts",
    find: "const content = message.blocks.flatMap(shown)",
    replace: "const content = message.blocks",
    tests: "test/Agent.hostile"
  },
  {
    law: "agent one on a session",
    file: "src/Agent.ts",
    find: "if (inUse.has(session)) return",
    replace: "if (inUse.has(session) && false) return",
    tests: "test/Agent.hostile",
    name: "two agents"
  },
  {
    law: "agent waits for itself",
    file: "src/Agent.ts",
    find: "activities.isPartOfIt(fiber.currentContext) ? Effect.dieMessage(waitsForItself(id)) : machine.awaitRest()",
    replace: "machine.awaitRest()",
    tests: "test/Agent.hostile",
    name: "a policy that waits for the agent"
  },
  {
    law: "agent withdrawn",
    file: "src/internal/agent/transition.ts",
    find: ': [{ ...state, inbox }, [{ _tag: "Withdraw", items: [item] }]]',
    replace: ': [state, [{ _tag: "Withdraw", items: [item] }]]',
    tests: "test/internal/agent",
    name: "withdrawn"
  },
  {
    law: "explored agent R1",
    file: "src/internal/agent/request.ts",
    find: "if (turn.cause === undefined) take(chunk) // R1: in one step",
    replace: "take(chunk)",
    tests: "test/laws/L11.agent",
    name: "cancel before any operation of a turn that streams"
  },
  {
    law: "explored subagent B1",
    file: "src/internal/capability/subagent/table.ts",
    find: "if (!birth.isPublished) this.taken-- // B1",
    replace: "",
    tests: "test/laws/L09.subagents",
    name: "around its publication"
  },
  {
    law: "explored subagent L9",
    file: "src/internal/capability/subagent/table.ts",
    find: 'options.attachment === "detached" ? this.owner : callers // L9',
    replace: "this.owner",
    tests: "test/laws/L09.subagents",
    name: "the owner of an attached child"
  },
  {
    law: "explored subagent L8",
    file: "src/internal/capability/subagent/table.ts",
    find: 'options.attachment === "detached" ? this.owner : callers // L9',
    replace: "this.owner",
    tests: "test/laws/L09.subagents",
    name: "three levels"
  },
  {
    law: "explored subagent S2",
    file: "src/internal/capability/subagent/record.ts",
    find: "if (child.isRunning()) return Effect.zipRight(child.awaitRest, this.endAtRest) // S2",
    replace:
      "if (child.isRunning()) return Effect.zipRight(child.awaitRest, Effect.sync(() => this.handedOver.finish()))",
    tests: "test/laws/L09.subagents",
    name: "disposed of as soon as it rests"
  },
  {
    law: "explored subagent L3",
    file: "src/internal/capability/subagent/record.ts",
    find: "if (this.isEnding || this.origins.disposeAtRest) return Effect.zipRight(this.handedOver.awaitEnd, this.atRest) // L3",
    replace: "",
    tests: "test/laws/L09.subagents",
    name: "disposed of as soon as it rests"
  },
  {
    law: "explored subagent S1",
    file: "src/internal/capability/subagent/record.ts",
    find: "result: child.result() } // S1",
    replace: 'result: { outcome: "aborted", output: "" } }',
    tests: "test/laws/L09.subagents",
    name: "disposed of while it completes"
  },
  {
    law: "subagent B2 published",
    file: "src/internal/capability/subagent/table.ts",
    find: 'if (accepted._tag === "Left") throw new Refused(accepted.left) // B2',
    replace: "",
    tests: "test/AgentSubagent.test",
    name: "cannot take the task"
  },
  {
    law: "subagent B3 told",
    file: "src/internal/capability/subagent/table.ts",
    find: "else this.record.disposal = message // B3",
    replace: "",
    tests: "test/AgentSubagent.test",
    name: "cannot be given back"
  },
  {
    law: "subagent L5 a clean-up that fails",
    file: "src/internal/capability/subagent/table.ts",
    find: 'if (this.disposal !== undefined) return Effect.fail({ reason: "DisposalFailed", detail: this.disposal }) // L5',
    replace: "",
    tests: "test/AgentSubagent.test",
    name: "while its start is pending, with a clean-up"
  },
  {
    law: "explored workflow R1",
    file: "src/internal/capability/workflow/run.ts",
    find: 'this.end(started, "Step", exit) // R1, R3',
    replace: "",
    tests: "test/laws/L09.workflows",
    name: "is cancelled at any time"
  },
  {
    law: "explored workflow R4",
    file: "src/internal/capability/workflow/run.ts",
    find: "const last = this.undoings.pop() // R4",
    replace: "const last = this.undoings.shift()",
    tests: "test/laws/L09.workflows",
    name: "is cancelled at any time"
  },
  {
    law: "explored workflow R5",
    file: "src/internal/capability/workflow/run.ts",
    find: "if (this.exit !== undefined) return // R5",
    replace: "",
    tests: "test/laws/L09.workflows",
    name: "is cancelled at any time"
  },
  {
    law: "explored workflow W2",
    file: "src/internal/capability/workflow/lane.ts",
    find: "if (!this.waiting.delete(place)) this.running-- // W2",
    replace: "this.waiting.delete(place)",
    tests: "test/laws/L09.workflows",
    name: "that has one place"
  },
  {
    law: "workflow R2 refused",
    file: "src/internal/capability/workflow/run.ts",
    find: "if (Exit.isFailure(waited) || this.isStopped) {",
    replace: "if (Exit.isFailure(waited)) {",
    tests: "test/capability/Workflow",
    name: "ready late is refused"
  },
  {
    law: "workflow R6 of its script",
    file: "src/internal/capability/workflow/run.ts",
    find: "misuse(`step ${name} was started outside of the script that it belongs to`) // R6",
    replace: "void name",
    tests: "test/capability/Workflow",
    name: "outside of its script"
  },
  {
    law: "workflow L3 the owner of a step",
    file: "src/internal/capability/workflow/run.ts",
    find: "restore(Cancellation.own(replaced ?? work))",
    replace: "restore(replaced ?? work)",
    tests: "test/capability/Workflow",
    name: "by whatever fiber"
  },
  {
    law: "workflow W1 places",
    file: "src/internal/capability/workflow/lane.ts",
    find: "if (this.running >= this.limit) return // W1",
    replace: "",
    tests: "test/capability/Workflow",
    name: "no more steps at once"
  },
  {
    law: "workflow L9 attached",
    file: "src/internal/capability/workflow/table.ts",
    find: 'settings.attachment === "detached" ? this.owner : callers, // L9',
    replace: "this.owner,",
    tests: "test/capability/Workflow",
    name: "attached ends with its owner"
  },
  {
    law: "workflow compensation shielded",
    file: "src/internal/capability/workflow/run.ts",
    find: "Cancellation.shield(apart(last.undo))",
    replace: "apart(last.undo)",
    tests: "test/capability/Workflow",
    name: "the capabilities of a compensation"
  },
  {
    law: "runtime policies remembered",
    file: "src/internal/toolRuntime/registry.ts",
    find: "const own = this.registered.some((entry) => entry.agent === agent) ? agent : undefined",
    replace: "const own = agent",
    tests: "test/internal/toolRuntime/registry"
  },
  {
    law: "K1 the first end counts",
    file: "src/internal/capability/code/run.ts",
    find: "if (this.outcome !== undefined) return // K1",
    replace: "",
    tests: "test/capability/CodeRuntime"
  },
  {
    law: "K3 stopped before its calls",
    file: "src/internal/capability/code/run.ts",
    find: "if (!this.isProtected) this.stop() // K3",
    replace: "",
    tests: "test/laws/L03.code"
  },
  {
    law: "L3 calls of code awaited",
    file: "src/internal/capability/code/calls.ts",
    find: "this.unfinished++ // before it starts",
    replace: "// before it starts",
    tests: "test/capability/CodeRuntime"
  },
  {
    law: "L4 code does not outlive its host",
    file: "src/internal/node/code/bootstrap.ts",
    find: "|| process.kill(process.pid, 'SIGKILL')",
    replace: "",
    tests: "test/internal/node/code/bootstrap"
  },
  {
    law: "at most maxCalls at once",
    file: "src/internal/node/code/bootstrap.ts",
    find: "if (unanswered < maxCalls) send([id, name, text])",
    replace: "if (unanswered < 2 * maxCalls) send([id, name, text])",
    tests: "test/node/NodeCodeRuntime.test"
  }
]

const copyTree = () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "quiesce-mutations-"))
  const { stdout } = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" })
  for (const file of stdout.split("\n").filter((name) => name !== "" && fs.existsSync(name))) {
    fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true })
    fs.copyFileSync(file, path.join(dir, file))
  }
  fs.symlinkSync(path.resolve("node_modules"), path.join(dir, "node_modules"))
  return dir
}

/** The entries whose line is not there, or more than once: it has been written anew, and the entry has to follow. */
const stale = (wanted) =>
  wanted
    .filter(({ file, find }) => fs.readFileSync(file, "utf8").split(find).length !== 2)
    .map(({ file, find, law }) => `${law}: "${find}" should stand in ${file} exactly once`)

const write = (rows) =>
  [
    "<!-- Generated by `npm run test:mutations -- explored --write docs/mutations.md`. Do not edit. -->",
    "",
    "# Lines that uphold the laws",
    "",
    "Each of these lines was taken away, or turned into its opposite, one at a time. The explored scenario beside it then",
    "failed, on a schedule that the explorer found. [laws.md](laws.md) has the scenarios.",
    "",
    "| law | file | line | scenario that fails without it | how |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map(({ file, find, first, law, problem }) => {
      const scenario = first === undefined ? "**none**" : first.replace(/^.* > /, "").replace(/ \d+ms$/, "")
      const cells = [law.replace("explored ", ""), `\`${file}\``, `\`${find.trim()}\``, scenario, problem]
      return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
    }),
    ""
  ].join("\n")

const [asked = "", ...options] = process.argv.slice(2)
const isCheck = asked === "--check"
const wanted = mutations.filter(({ file, law }) => isCheck || `${law} ${file}`.includes(asked))
const wrong = stale(wanted)
if (wrong.length > 0) process.stderr.write(`${wrong.join("\n")}\n`)
if (isCheck || wrong.length > 0) process.exit(wrong.length > 0 ? 1 : 0)
const page = options[0] === "--write" ? options[1] : undefined
const rows = []
const dir = copyTree()
let survived = 0
try {
  for (const { law, file, find, name, replace, tests } of wanted) {
    const target = path.join(dir, file)
    const original = fs.readFileSync(target, "utf8")
    fs.writeFileSync(
      target,
      original.replace(find, () => replace)
    )
    const run = spawnSync(
      path.resolve("node_modules/.bin/vitest"),
      ["run", tests, "--bail", "1", "--testTimeout", "4000", ...(name === undefined ? [] : ["-t", name])],
      {
        cwd: dir,
        encoding: "utf8",
        timeout: 400_000
      }
    )
    fs.writeFileSync(target, original)
    const named = /(?:FAIL|×) +(.*)/.exec(run.stdout)?.[1]
    // An explored scenario hangs in no schedule: a run that takes too long, or dies, is no verdict on it.
    const red = run.status !== 0 && (named !== undefined || !tests.startsWith("test/laws"))
    if (!red) survived++
    const first = named ?? (run.signal === null ? "" : "hangs")
    process.stdout.write(
      `${red ? "red     " : "SURVIVED"}  ${law.padEnd(20)} ${file}  ${red ? first : `no test of ${tests} fails`}\n`
    )
    const problem = /→ +(?:✗ )?(.*)/.exec(run.stdout)?.[1] ?? ""
    rows.push({ law, file, find, problem, first: red ? first : undefined })
  }
  if (page !== undefined) fs.writeFileSync(page, write(rows))
} finally {
  fs.rmSync(dir, { recursive: true, force: true })
}
process.stdout.write(survived === 0 ? "every line is held by a test\n" : `${survived} lines are held by no test\n`)
process.exitCode = survived === 0 ? 0 : 1
