// Builds dist/ with tsc, and does nothing when dist/ is already what src/ says.
//
// tsc alone would be wrong twice: with its build info kept it does not notice that outputs were deleted, and it
// never removes the output of a module that is gone, which would then be published.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

const buildInfo = "node_modules/.cache/quiesce/build.tsbuildinfo"
const stamp = "node_modules/.cache/quiesce/build.stamp"
const endings = [".js", ".js.map", ".d.ts", ".d.ts.map"]

const files = (dir) =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)))
    : []

const modifiedAt = (file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

const sources = files("src").filter((file) => file.endsWith(".ts"))
const expected = new Set(sources.flatMap((file) => endings.map((ending) => file.slice(0, -3) + ending)))

for (const file of files("dist")) {
  if (!expected.has(file)) fs.rmSync(path.join("dist", file))
}
// Nothing to build yet.
if (sources.length === 0) process.exit(0)

const complete = [...expected].every((file) => fs.existsSync(path.join("dist", file)))
const inputs = [
  ...sources.map((file) => path.join("src", file)),
  "tsconfig.json",
  "tsconfig.build.json",
  "package.json"
]
const builtAt = modifiedAt(stamp)
if (complete && inputs.every((file) => modifiedAt(file) < builtAt)) process.exit(0)

if (!complete) fs.rmSync(buildInfo, { force: true })
const startedAt = new Date()
const tsc = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"], {
  stdio: "inherit"
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
// The time of the start: a file saved while tsc was running is built again next time.
fs.mkdirSync(path.dirname(stamp), { recursive: true })
fs.writeFileSync(stamp, "")
fs.utimesSync(stamp, startedAt, startedAt)
