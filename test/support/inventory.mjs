// Writes docs/inventory.md: each built-in tool, the capability operations that it reaches, and where those commit.
//
//   npm run inventory          writes the page
//   npm run inventory:check    fails if the page is stale
//
// What a tool reaches is read from the code, with the compiler's own knowledge of types: whatever is used in its handler,
// or in the functions of src/tools and src/internal/tools that it calls, and needs a `Cancellation`.
import * as fs from "node:fs"
import * as path from "node:path"
import ts from "typescript"

const page = "docs/inventory.md"
const root = process.cwd()
const config = ts.getParsedCommandLineOfConfigFile(
  "tsconfig.json",
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
)
const toolFiles = fs
  .readdirSync("src/tools")
  .filter((name) => /^[A-Z]\w*\.ts$/.test(name))
  .sort()
const program = ts.createProgram(
  toolFiles.map((name) => path.join(root, "src/tools", name)),
  config.options
)
const checker = program.getTypeChecker()

const relative = (file) => path.relative(root, file.fileName).split(path.sep).join("/")
const isCapability = (file) => /^src\/capability\/[A-Z]/.test(relative(file))
const isOurs = (file) => /^src\/(internal\/)?tools\//.test(relative(file))

const target = (node) => {
  const symbol = checker.getSymbolAtLocation(node)
  return symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** Whether something waits: its type, or what it returns, needs an owner. */
const waits = (node) => {
  const type = checker.getTypeAtLocation(node)
  const results = type.getCallSignatures().map((signature) => signature.getReturnType())
  return [type, ...results].some((type) => {
    if (!/^(?:Effect|Stream)$/.test(type.symbol?.name ?? "")) return false
    const needs = checker.getTypeArguments(type).at(-1)
    return (needs?.isUnion() ? needs.types : [needs]).some((need) => need?.symbol?.name === "Cancellation")
  })
}

const moduleOf = (file) => path.basename(file.fileName, ".ts")

/** The operations that a piece of code reaches. */
const reached = (node, found = new Map(), seen = new Set()) => {
  const visit = (node) => {
    if (ts.isIdentifier(node)) {
      for (const declaration of target(node)?.declarations ?? []) {
        const file = declaration.getSourceFile()
        const name = node.text
        if (isCapability(file) && waits(node)) found.set(`${moduleOf(file)}.${name}`, declaration)
        // A constant or a function of the tools' own: what it reaches, its user does.
        if (isOurs(file) && ts.isVariableDeclaration(declaration) && !seen.has(declaration)) {
          seen.add(declaration)
          if (declaration.initializer !== undefined) visit(declaration.initializer)
        }
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(node)
  return found
}

const docOf = (node) =>
  ts
    .getJSDocCommentsAndTags(node)
    .map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? "")
    .join(" ")

/** The contract of an operation is on the service; a function of the same name leads there. */
const contract = (declaration) => {
  const file = declaration.getSourceFile()
  if (ts.isPropertySignature(declaration)) return docOf(declaration)
  const service = file.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === "Service")
  const member = service?.members.find((member) => member.name?.getText() === declaration.name?.getText())
  const statement = declaration.parent?.parent ?? declaration
  return `${member === undefined ? "" : docOf(member)} ${docOf(statement)}`
}

const commitOf = (declaration) => {
  const text = contract(declaration).replace(/\s+/g, " ")
  const sentences = text.match(/[^.]+(?:\.(?!\s)[^.]*)*\./g) ?? []
  const found = sentences.map((sentence) => sentence.trim()).find((sentence) => /commit point|has none/i.test(sentence))
  return found ?? ""
}

const toolsOf = (file) => {
  const tools = []
  const visit = (node) => {
    if (ts.isCallExpression(node) && /^Tool\.make$/.test(node.expression.getText())) {
      const [name, options] = node.arguments
      const property = (key) => options.properties.find((property) => property.name?.getText() === key)
      const handler = property("handler")
      const concurrency = property("concurrency")?.initializer?.getText().replaceAll('"', "") ?? "exclusive"
      tools.push({ name: name.text, concurrency, operations: reached(handler) })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return tools
}

const tools = toolFiles.flatMap((name) => {
  const file = program.getSourceFile(path.join(root, "src/tools", name))
  return toolsOf(file).map((tool) => ({ ...tool, module: name.slice(0, -3) }))
})
for (const { name, operations } of tools) {
  if (operations.size === 0)
    throw new Error(`tool ${name} reaches no operation: is it out of scope, or is this script wrong?`)
}

const operations = new Map(tools.flatMap(({ operations }) => [...operations]))
const write = () =>
  [
    "<!-- Generated by `npm run inventory`. Do not edit. -->",
    "",
    "# Inventory",
    "",
    "Every built-in tool (`quiesce/tools`), and every operation of a capability that a call of it can wait for. Each of",
    "these needs an owner (`Cancellation`) to compile: a call that is cancelled stops them and waits for them (L3, L14).",
    "",
    "| tool | module | mode | operations |",
    "| --- | --- | --- | --- |",
    ...tools.map(
      ({ concurrency, module, name, operations }) =>
        `| \`${name}\` | \`${module}\` | ${concurrency} | ${[...operations.keys()]
          .sort()
          .map((name) => `\`${name}\``)
          .join(", ")} |`
    ),
    "",
    "## Where they commit",
    "",
    "A commit point is the step after which a cancel no longer undoes. An operation without one only reads, or can be",
    "stopped at any time with what it has done so far.",
    "",
    "| operation | commit point, in the words of its contract |",
    "| --- | --- |",
    ...[...operations]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, declaration]) => `| \`${name}\` | ${commitOf(declaration).replaceAll("|", "\\|") || "none"} |`),
    "",
    "## Out of scope by rule",
    "",
    "Not in this list, because nothing in it can be waited for: what answers at once (`Task.list`, `Task.read`, `Task.kill`,",
    "`ToolRuntime.schemas`, the checks of parameters); what a hand-over has given to another owner; and the release of a",
    "layer, which belongs to who closes it.",
    ""
  ].join("\n")

const next = write()
if (process.argv.includes("--check")) {
  if (!fs.existsSync(page) || fs.readFileSync(page, "utf8") !== next) {
    console.error(`${page} is stale: run npm run inventory`)
    process.exit(1)
  }
} else fs.writeFileSync(page, next)
