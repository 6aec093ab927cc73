/**
 * What is there for the code, on its side: `console`, the bindings, and the way of its value out.
 *
 * This text is evaluated in the realm of the code, before the code is. Whatever the code can get hold of is of that
 * realm: functions of the surrounding program are called from here only, with strings and numbers, and what they throw is
 * replaced. The code may change everything of its realm, so all that is needed later is taken before it runs, and
 * nothing here looks up a method on a prototype.
 *
 * A string and no function: bundlers rename what functions use, and coverage tools write counters into them.
 *
 * @internal
 */
export const inside = `
"use strict";
((log, call, done, failed, names, maxLength) => {
  const global = globalThis
  const { stringify, parse } = JSON
  const { create, defineProperty, getPrototypeOf, keys, prototype: objectPrototype } = Object
  const { isArray } = Array
  const { apply } = Reflect
  const slice = String.prototype.slice
  const Text = String
  const Failure = Error
  const Eventually = Promise

  // Their memory is none of the heap, so no limit would hold it.
  for (const name of ["ArrayBuffer", "SharedArrayBuffer", "Atomics", "DataView", "WebAssembly", "Int8Array",
    "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float16Array",
    "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) delete global[name]

  // What a function of the surrounding program throws (a full stack, say) is of its realm.
  const guarded = (f) => (a, b, c) => {
    try {
      return f(a, b, c)
    } catch {
      throw new Failure("there is no stack left")
    }
  }
  const sendLog = guarded(log)
  const sendCall = guarded(call)
  const sendDone = guarded(done)
  const sendFailed = guarded(failed)

  const refusal = (reason, detail) => ({ __proto__: null, reason, detail })

  // As JSON.stringify, without toJSON, and with a refusal where that would lose something. Cycles are too deep.
  const encode = (value) => {
    let length = 0
    const walk = (value, depth) => {
      let text
      switch (typeof value) {
        case "string":
          if (value.length > maxLength) throw refusal("OutputLimit")
          text = stringify(value)
          break
        case "boolean":
          text = value ? "true" : "false"
          break
        case "number":
          if (value - value !== 0) throw refusal("InvalidOutput", "the number " + value)
          text = stringify(value)
          break
        case "object":
          if (value === null) text = "null"
          else if (depth === 500) throw refusal("InvalidOutput", "a cycle, or more than 500 levels")
          else return isArray(value) ? array(value, depth + 1) : record(value, depth + 1)
          break
        default:
          throw refusal("InvalidOutput", value === undefined ? "undefined" : "a " + typeof value)
      }
      length += text.length
      if (length > maxLength) throw refusal("OutputLimit")
      return text
    }
    const array = (value, depth) => {
      let text = "["
      for (let i = 0; i < value.length; i++) {
        text += (i === 0 ? "" : ",") + walk(value[i] === undefined ? null : value[i], depth)
        if (++length > maxLength) throw refusal("OutputLimit")
      }
      return text + "]"
    }
    const record = (value, depth) => {
      const prototype = getPrototypeOf(value)
      if (prototype !== objectPrototype && prototype !== null) throw refusal("InvalidOutput", "an object that is not plain")
      let text = "{"
      const names = keys(value)
      for (let i = 0; i < names.length; i++) {
        const item = value[names[i]]
        if (item === undefined) continue
        text += (text === "{" ? "" : ",") + walk(names[i], depth) + ":" + walk(item, depth)
        length += 2
      }
      return text + "}"
    }
    return walk(value === undefined ? null : value, 0)
  }

  const cut = (u) => (typeof u === "string" ? apply(slice, u, [0, 10000]) : "")
  const isObject = (u) => (typeof u === "object" && u !== null) || typeof u === "function"

  // Anything can be thrown, and it may throw when it is looked at.
  const describe = (error) => {
    try {
      if (!isObject(error)) return [cut(Text(error)), ""]
      const name = cut(error.name)
      const message = cut(error.message)
      const stack = cut(error.stack)
      return [name === "" || message === "" ? name + message || "an object" : name + ": " + message, stack]
    } catch {
      return ["something that cannot be looked at", ""]
    }
  }

  const show = (value) => {
    let left = 2000
    const inspect = (value, depth) => {
      if (typeof value === "string") return depth === 0 ? value : stringify(cut(value))
      if (typeof value === "function") return "[function]"
      if (!isObject(value)) return typeof value === "bigint" ? Text(value) + "n" : Text(value)
      if (value instanceof Failure) return cut(value.stack) || describe(value)[0]
      if (depth === 5) return "..."
      let text = ""
      const names = isArray(value) ? value : keys(value)
      for (let i = 0; i < names.length; i++) {
        if (--left < 0) return text + ", ..."
        if (i > 0) text += ", "
        text += names === value ? inspect(value[i], depth + 1) : names[i] + ": " + inspect(value[names[i]], depth + 1)
      }
      if (names === value) return "[" + text + "]"
      return text === "" ? "{}" : "{ " + text + " }"
    }
    try {
      return inspect(value, 0)
    } catch {
      return "[something that cannot be looked at]"
    }
  }

  const pending = create(null)

  const define = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true })

  for (let i = 0; i < names.length; i++) {
    const name = names[i]
    define(global, name, (argument) =>
      new Eventually((resolve, reject) => {
        let text
        try {
          text = encode(argument)
        } catch (error) {
          const [detail] = describe(error)
          const why = error.reason === "OutputLimit" ? "is too long" : "is not JSON: " + (error.detail || detail)
          throw new TypeError("the argument of " + name + " " + why)
        }
        pending[sendCall(name, text)] = { __proto__: null, resolve, reject }
      })
    )
  }

  const console = {}
  const levels = { __proto__: null, log: "log", dir: "log", table: "log", info: "info", debug: "debug", trace: "debug",
    warn: "warn", error: "error" }
  for (const name in levels) {
    define(console, name, (...values) => {
      let text = ""
      for (let i = 0; i < values.length; i++) text += (i === 0 ? "" : " ") + show(values[i])
      sendLog(levels[name], text)
    })
  }
  define(global, "console", console)

  return [
    // Runs the code. What it gives is never touched outside of here.
    async (main) => {
      let value
      try {
        value = await main()
      } catch (error) {
        const [detail, stack] = describe(error)
        return sendFailed("Exception", detail, stack)
      }
      let text
      try {
        text = encode(value)
      } catch (error) {
        const isRefusal = isObject(error) && getPrototypeOf(error) === null
        const reason = isRefusal ? error.reason : "InvalidOutput"
        return sendFailed(reason, isRefusal ? error.detail || "" : describe(error)[0], "")
      }
      sendDone(text)
    },
    // Answers a call.
    (id, isValue, text) => {
      const { resolve, reject } = pending[id]
      delete pending[id]
      const answer = parse(text)
      if (isValue) return resolve(answer)
      const error = new Failure(answer.message)
      if (answer.name !== undefined) define(error, "name", answer.name)
      if (answer.code !== undefined) define(error, "code", answer.code)
      reject(error)
    },
    // A rejection, or an exception, that nobody has caught.
    (error) => sendLog("error", "Nobody caught: " + describe(error)[0])
  ]
})
`
