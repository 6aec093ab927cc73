import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import ts from "typescript"

// What a reader may rely on when moving around this repository.

const categories = [
  "combinators",
  "constructors",
  "converting",
  "error handling",
  "errors",
  "guards",
  "layers",
  "models",
  "running",
  "schemas",
  "services",
  "testing",
  "utility types"
]

/** Where the word abort may be used, and why. An entry that ends in a slash is a folder. */
const abortMayAppearIn = [
  // Fiber and signal meet here, and in their private parts.
  "Abort.ts",
  "Cancellation.ts",
  "internal/abort/",
  "internal/abortListener.ts",
  "internal/cancellation/",
  // What providers of models say of an end is theirs to word.
  "internal/capability/model/openAiAnswer.ts",
  // Code on the other side of the border has nothing but signals.
  "adapters/",
  "promise/",
  "internal/promise/",
  // Tests play the host: they abort its signals, and count the listeners on them.
  "testing/"
]

/** In node/, a signal has to be named where it is passed to Node, and nothing more. */
const namesOfThePlatform = new Set(["AbortController", "AbortError", "AbortSignal", "abort", "aborted"])

interface Ban {
  readonly what: string
  readonly pattern: RegExp
  readonly instead: string
  readonly except?: ReadonlyArray<string>
}

const bans: ReadonlyArray<Ban> = [
  {
    what: "Effect.promise, Effect.tryPromise",
    pattern: /\bEffect\.(?:promise|tryPromise)\b/,
    instead: "they abandon the promise on interruption; use Abort.fromPromise",
    except: ["internal/settlement.ts"]
  },
  {
    what: "Effect.async",
    pattern: /\bEffect\.async\b/,
    instead: "it can lose its canceler; use internal/settlement",
    // The explorer has to know one when it sees it.
    except: ["internal/settlement.ts", "internal/testing/effect3Ops.ts"]
  },
  {
    what: "Effect.forkDaemon",
    pattern: /\bEffect\.forkDaemon\b/,
    instead: "nobody would wait for it; fork into a scope"
  },
  {
    what: "Effect.disconnect",
    pattern: /\bEffect\.disconnect\b/,
    instead: "the caller would not wait for finalizers"
  },
  {
    what: "runPromise",
    pattern: /\brunPromise(?:Exit)?\b/,
    instead: "it starts work without an owner; use Abort.toPromise"
  },
  {
    what: "AbortSignal.any, AbortSignal.timeout",
    pattern: /\bAbortSignal\.(?:any|timeout)\b/,
    instead: "nobody can remove what they register; derive an owner"
  },
  {
    what: "Effect.race, Effect.timeout",
    pattern: /\bEffect\.(?:race|timeout)\w*/,
    instead: "cut between the making of its fibers and their start it never ends; start fibers and wait for each"
  },
  {
    what: "AsyncLocalStorage",
    pattern: /\bAsyncLocalStorage\b/,
    instead: "ownership is passed, not found"
  },
  {
    what: `addEventListener("abort")`,
    pattern: /\baddEventListener\(\s*["'`]abort["'`]/,
    instead: "one listener for each signal; use internal/abortListener",
    except: ["internal/abortListener.ts"]
  }
]

/** Calls whose first argument identifies a class, a service or an error to the whole process. */
const keyed = new Set([
  "Context.GenericTag",
  "Context.Reference",
  "Context.Tag",
  "Effect.Service",
  "Effect.Tag",
  "Schema.Class",
  "Schema.TaggedClass",
  "Schema.TaggedError",
  "Schema.TaggedRequest"
])

class SourceFile {
  /** Path below src/, with forward slashes. */
  readonly file: string
  readonly text: string
  readonly isBarrel: boolean
  readonly isInternal: boolean
  /** Can be imported by users under its own path. */
  readonly isPublicModule: boolean
  #tree: ts.SourceFile | undefined

  constructor(file: string) {
    this.file = file
    this.text = fs.readFileSync(path.join("src", file), "utf8")
    this.isBarrel = path.basename(file) === "index.ts"
    this.isInternal = file.startsWith("internal/")
    this.isPublicModule = /^[A-Z]/.test(path.basename(file)) && !/^(?:internal|cli)\//.test(file)
  }

  get tree(): ts.SourceFile {
    this.#tree ??= ts.createSourceFile(this.file, this.text, ts.ScriptTarget.Latest, true)
    return this.#tree
  }

  /** The text with comments and messages blanked out, so that positions stay what they are. */
  get code(): string {
    let code = ""
    const keep = (node: ts.Node): void => {
      if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return
      const children = node.getChildren(this.tree)
      for (const child of children) keep(child)
      if (children.length > 0) return
      const isMessage = (ts.isStringLiteralLike(node) && node.text !== "abort") || ts.isTemplateLiteralToken(node)
      const from = isMessage ? node.end : node.getStart(this.tree)
      code += this.text.slice(code.length, from).replace(/\S/g, " ") + this.text.slice(from, node.end)
    }
    keep(this.tree)
    return code
  }

  /** Every node, comments excluded. */
  *nodes(node: ts.Node = this.tree): Generator<ts.Node> {
    yield node
    const children: Array<ts.Node> = []
    ts.forEachChild(node, (child) => {
      children.push(child)
    })
    for (const child of children) yield* this.nodes(child)
  }

  where(position: number): string {
    return `src/${this.file}:${this.tree.getLineAndCharacterOfPosition(position).line + 1}`
  }

  /** The doc comment right before a node. */
  docOf(node: ts.Node): string {
    const comments = ts.getLeadingCommentRanges(this.text, node.pos) ?? []
    const last = comments.at(-1)
    const doc = last === undefined ? "" : this.text.slice(last.pos, last.end)
    return doc.startsWith("/**") ? doc : ""
  }
}

const isIn = (file: string, places: ReadonlyArray<string>): boolean =>
  places.some((place) => (place.endsWith("/") ? file.startsWith(place) : file === place))

const list = (dir: string, ending: RegExp): ReadonlyArray<string> =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { recursive: true, encoding: "utf8" })
        .map((file) => file.replaceAll("\\", "/"))
        .filter((file) => ending.test(file))
        .sort()
    : []

const sources = list("src", /\.ts$/).map((file) => new SourceFile(file))

/** Fails with all findings at once: whoever repairs them wants the list. */
const expectNone = (findings: ReadonlyArray<string>): void => {
  if (findings.length > 0) assert.fail(`\n  ${findings.join("\n  ")}\n`)
}

interface Exported {
  readonly name: string
  readonly statement: ts.Statement
}

const exportsOf = (source: SourceFile): ReadonlyArray<Exported> =>
  source.tree.statements.flatMap((statement): ReadonlyArray<Exported> => {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause
      return [{ statement, name: clause === undefined ? "*" : clause.getText(source.tree) }]
    }
    if (!ts.canHaveModifiers(statement)) return []
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(statement)) {
      return [{ statement, name: statement.declarationList.declarations.map((d) => d.name.getText()).join(", ") }]
    }
    return [{ statement, name: (statement as ts.DeclarationStatement).name?.getText() ?? "default" }]
  })

const findingsOfDocs = (source: SourceFile): ReadonlyArray<string> => {
  const documented = new Set<string>()
  return exportsOf(source).flatMap(({ name, statement }) => {
    const doc = source.docOf(statement)
    // Overloads share the comment of the first one.
    if (ts.isFunctionDeclaration(statement) && documented.has(name)) return []
    documented.add(name)
    if (/@internal\b/.test(doc)) return []
    const where = `${source.where(statement.getStart())} ${name}`
    const category = /@category (.+)/.exec(doc)?.[1]
    return [
      /^\/\*\*\n \* [A-Z`]/.test(doc) ? "" : `${where}: needs a summary sentence`,
      /@since \d+\.\d+\.\d+/.test(doc) ? "" : `${where}: needs @since`,
      category !== undefined && categories.includes(category)
        ? ""
        : `${where}: needs a @category, one of ${categories.join(", ")}`
    ].filter((finding) => finding !== "")
  })
}

const findingsOfAbort = (source: SourceFile): ReadonlyArray<string> => {
  if (source.isBarrel || isIn(source.file, abortMayAppearIn)) return []
  const findings: Array<string> = []
  for (const node of source.nodes()) {
    const isName = ts.isIdentifier(node) || ts.isPrivateIdentifier(node)
    if (!isName && !ts.isStringLiteralLike(node) && !ts.isTemplateLiteralToken(node)) continue
    const text = node.text
    if (!/abort/i.test(text)) continue
    // "ABORTED_BEFORE_DISPATCH", "AbortError": the hosts that read them fix the codes of results and names of errors.
    if (/^[A-Z][A-Z0-9_]+$/.test(text) || (!isName && text === "AbortError")) continue
    // What models are told is fixed by those who read it.
    if (!isName && /^tool call aborted/.test(text)) continue
    // How an answer of a model, or a turn, ended: a word of streams and logs, fixed by those who read them.
    if (!isName && text === "aborted") continue
    // What becomes of finished siblings, in the law's own word (L8).
    if (!isName && text === "abort" && isIn(source.file, ["Agent.ts", "ToolRuntime.ts"])) continue
    // The module of that name, imported and used: import * as Abort from "./Abort.js"
    if (text === "Abort" || ts.isImportDeclaration(node.parent)) continue
    if (ts.isPropertyAccessExpression(node.parent) && node.parent.expression.getText(source.tree) === "Abort") continue
    if (source.file.startsWith("node/") && namesOfThePlatform.has(text)) continue
    findings.push(`${source.where(node.getStart())}: ${text}`)
  }
  return findings
}

const findingsOfKeys = (source: SourceFile): ReadonlyArray<string> => {
  const module = `quiesce/${source.file.slice(0, -3)}`
  const findings: Array<string> = []
  for (const node of source.nodes()) {
    if (!ts.isCallExpression(node) || !keyed.has(node.expression.getText(source.tree))) continue
    const [argument] = node.arguments
    const key = argument !== undefined && ts.isStringLiteralLike(argument) ? argument.text : undefined
    let owner: ts.Node | undefined = node.parent
    while (owner !== undefined && !ts.isClassDeclaration(owner) && !ts.isVariableDeclaration(owner)) {
      owner = owner.parent
    }
    const name = owner?.name?.getText(source.tree)
    const expected = name === path.basename(module) ? [module, `${module}/${name}`] : [`${module}/${name}`]
    if (key === undefined || !expected.includes(key)) {
      findings.push(`${source.where(node.getStart())}: ${name} has the key ${key}, expected ${expected.join(" or ")}`)
    }
  }
  return findings
}

describe("structure", () => {
  it("each public module has a test at the same path", () => {
    const missing = sources
      .filter((source) => source.isPublicModule)
      .map((source) => `test/${source.file.replace(/\.ts$/, ".test.ts")}`)
      .filter((test) => !fs.existsSync(test))
    expectNone(missing.map((test) => `${test} is missing`))
  })

  it("each export says what it is, since when, and in which category", () => {
    expectNone(sources.filter((source) => source.isPublicModule).flatMap(findingsOfDocs))
  })

  it("a file that is long says why", () => {
    const long = sources.filter((source) => {
      const limit = source.isInternal ? 300 : 400
      const lines = source.text.trimEnd().split("\n").length
      return !source.isBarrel && lines > limit && !/^(?: \* |\/\/ )Long because/m.test(source.text)
    })
    expectNone(
      long.map(({ file }) => `src/${file}: split it, or say in its header why not, in a line "Long because ..."`)
    )
  })

  it("each index.ts is generated", () => {
    const written = sources.filter(
      (source) => source.isBarrel && !source.text.startsWith("// Generated by test/support/barrels.mjs.")
    )
    expectNone(written.map(({ file }) => `src/${file}: only test/support/barrels.mjs writes an index.ts`))
  })

  it("private code lives in src/internal, and users cannot import it", () => {
    const elsewhere = sources.filter(({ file }) => file.includes("/internal/"))
    expectNone(elsewhere.map(({ file }) => `src/${file}: package.json hides only src/internal`))
    const { resolve } = createRequire(path.resolve("package.json"))
    for (const hidden of ["quiesce/internal/random", "quiesce/internal/toolRuntime/callState", "quiesce/cli/main"]) {
      assert.throws(() => resolve(hidden), /not defined by "exports"/)
    }
  })

  it("the word abort belongs to the border with signals", () => {
    expectNone(sources.flatMap(findingsOfAbort))
  })

  it.each(bans)("nothing in src/ uses $what", ({ except = [], instead, pattern }) => {
    const findings = sources
      .filter((source) => !isIn(source.file, except))
      .flatMap((source) =>
        [...source.code.matchAll(new RegExp(pattern, "g"))].map(
          (match) => `${source.where(match.index)}: ${match[0]}: ${instead}`
        )
      )
    expectNone(findings)
  })

  it("keys of services and ids of errors are the path of the module", () => {
    expectNone(sources.flatMap(findingsOfKeys))
  })

  it("no note to self is left behind", () => {
    const self = "test/structure.test.ts"
    const files = [
      ...sources.map(({ file }) => `src/${file}`),
      ...list("test", /\.(?:ts|mjs)$/).map((f) => `test/${f}`)
    ]
    const findings = files
      .filter((file) => file !== self)
      .flatMap((file) =>
        fs
          .readFileSync(file, "utf8")
          .split("\n")
          .flatMap((line, i) => (/\b(?:TODO|FIXME)\b/.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : []))
      )
    expectNone(findings)
  })
})
