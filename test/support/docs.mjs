// Turns every ```ts fence of README.md, docs/**/*.md and the doc comments of src/ into a test under .docs/, lets tsc
// check it and vitest run it. "```ts no-run" is compiled but not run. There is no way to skip compiling.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const out = ".docs"

const files = (dir, extension) =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { recursive: true, encoding: "utf8" })
        // Barrels repeat the comments of their modules.
        .filter((name) => name.endsWith(extension) && path.basename(name) !== "index.ts")
        .map((name) => path.join(dir, name))
        .sort()
    : []

const fence = /^([ \t]*(?:\* ?)?)```(\w+)([^\n]*)\n([\s\S]*?)^\1```$/gm
const otherNames = new Set(["typescript", "tsx", "mts", "js", "javascript", "mjs"])

// Imports go to the top of the file, the rest into the body of the test. An import may span lines.
const splitImports = (lines) => {
  const imports = []
  const body = []
  let open = false
  for (const line of lines) {
    if (open || /^import\b(?!\s*[(.])/.test(line)) {
      imports.push(line)
      open = !/["'];?\s*(?:\/\/.*)?$/.test(line)
    } else body.push(line)
  }
  return { imports, body }
}

const run = (...args) => spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1

fs.rmSync(out, { recursive: true, force: true })

let count = 0
const mistakes = []
for (const file of ["README.md", "CONTRIBUTING.md", ...files("docs", ".md"), ...files("src", ".ts")]) {
  if (!fs.existsSync(file)) continue
  const text = fs.readFileSync(file, "utf8")
  for (const match of text.matchAll(fence)) {
    const [, prefix, language, info, raw] = match
    const line = text.slice(0, match.index).split("\n").length
    if (otherNames.has(language) || (language === "ts" && !/^( no-run)?$/.test(info))) {
      mistakes.push(`${file}:${line}: write "ts" or "ts no-run", not "${language}${info}"`)
    }
    if (language !== "ts") continue
    const { imports, body } = splitImports(
      raw.split("\n").map((l) => (l.startsWith(prefix) ? l.slice(prefix.length) : l.trim() === "*" ? "" : l))
    )
    const target = path.join(out, `${file}.${line}.test.ts`)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(
      target,
      [
        ...imports,
        `import { test as docTest } from "vitest"`,
        `docTest${info === " no-run" ? ".skip" : ""}("${file}:${line}", async () => {`,
        ...body.map((l) => (l === "" ? l : `  ${l}`)),
        "})",
        ""
      ].join("\n")
    )
    count++
  }
}

if (mistakes.length > 0) {
  console.error(mistakes.join("\n"))
  process.exit(1)
}
if (count === 0) {
  console.log("no examples yet")
  process.exit(0)
}
process.exit(
  run("node_modules/typescript/bin/tsc", "-p", "tsconfig.docs.json") ||
    run("node_modules/vitest/vitest.mjs", "run", "--config", "vitest.docs.ts")
)
