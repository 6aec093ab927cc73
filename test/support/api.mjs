// Writes the API report: docs/api/, one declaration file without comments for each public module. It is committed, so
// that a change of public types is a few lines in review. `--check` only compares.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const report = "docs/api"
const fresh = "node_modules/.cache/quiesce/api"

const files = (dir) =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".d.ts"))
        .sort()
    : []

const read = (dir, file) => {
  const at = path.join(dir, file)
  return fs.existsSync(at) ? fs.readFileSync(at, "utf8") : ""
}

fs.rmSync(fresh, { recursive: true, force: true })
const tsc = spawnSync(
  process.execPath,
  [
    "node_modules/typescript/bin/tsc",
    ...["-p", "tsconfig.build.json", "--outDir", fresh],
    ...["--emitDeclarationOnly", "--removeComments", "--declarationMap", "false", "--sourceMap", "false"],
    // With build info, tsc would think that what was just removed is still there.
    ...["--incremental", "false", "--tsBuildInfoFile", "null"]
  ],
  { stdio: "inherit" }
)
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
// Nobody can import these.
for (const hidden of ["internal", "cli"]) fs.rmSync(path.join(fresh, hidden), { recursive: true, force: true })

if (process.argv.includes("--check")) {
  const changed = [...new Set([...files(report), ...files(fresh)])]
    .filter((file) => read(report, file) !== read(fresh, file))
    .sort()
  for (const file of changed) {
    console.error(`${path.join(report, file)} is stale:`)
    // git prints a better diff than anything short would; a file that is new or gone compares with nothing.
    const sides = [report, fresh].map((dir) => (read(dir, file) === "" ? "/dev/null" : path.join(dir, file)))
    spawnSync("git", ["--no-pager", "diff", "--no-index", "--no-color", ...sides], { stdio: ["ignore", 2, 2] })
  }
  if (changed.length > 0) {
    console.error("The public types changed. If that is intended: run npm run api, and commit docs/api")
    process.exit(1)
  }
} else {
  fs.rmSync(report, { recursive: true, force: true })
  fs.cpSync(fresh, report, { recursive: true })
}
