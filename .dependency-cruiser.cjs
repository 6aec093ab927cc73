// The floors of src/, lowest first. A file may import its own floor and lower ones, never higher.
// Types count: a type-only import still means "cannot be understood without".
//
// `modules` are public files of src/, `folders` public groups. The private parts of each, in internal/<name>/, stand
// on the same floor. (dependency-cruiser refuses patterns with many quantifiers, hence lists of plain ones.)
const folder = (name) => [`^src/${name}/`, `^src/internal/${name}/`]
const floors = [
  { name: "0-internal", modules: [], folders: [], paths: ["^src/internal/[^/]+\\.ts$"] },
  { name: "1-words", modules: ["CancelCause", "ToolCall", "ToolResult", "ToolError", "Content"], folders: [] },
  { name: "2-ownership", modules: ["Cancellation", "Abort", "Handoff"], folders: [] },
  { name: "3-capabilities", modules: [], folders: ["capability"] },
  { name: "4-definitions", modules: ["Tool", "ToolContext", "Toolkit", "Policy"], folders: [] },
  { name: "5-execution", modules: ["ToolRuntime"], folders: [] },
  { name: "6-agents", modules: ["Session", "Inbox", "Agent", "AgentEvent", "AgentSubagent"], folders: [] },
  { name: "7-borders", modules: [], folders: ["promise", "node", "adapters", "testing", "tools", "cli"] }
].map(({ name, modules, folders, paths = [] }) => ({
  name,
  paths: [
    ...paths,
    ...modules.map((module) => `^src/${module}\\.ts$`),
    ...modules.map((module) => `^src/internal/${module[0].toLowerCase()}${module.slice(1)}/`),
    ...folders.flatMap(folder)
  ]
}))

// Barrels stand above everything: they are for users, and nothing in src/ imports them.
const barrel = ["^src/index\\.ts$", "^src/.*/index\\.ts$"]
const everyFloor = floors.flatMap((floor) => floor.paths)

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...floors.slice(0, -1).map((floor, i) => ({
      name: `floor-${floor.name}-imports-upward`,
      severity: "error",
      comment: "Pass the upper thing as a parameter, or declare a service (Context.Tag) on the lower floor.",
      from: { path: floor.paths, pathNot: barrel },
      to: { path: floors.slice(i + 1).flatMap((upper) => upper.paths) }
    })),
    {
      name: "file-without-a-floor",
      severity: "error",
      comment: "Add the module to the floors in .dependency-cruiser.cjs.",
      from: { path: "^src/", pathNot: [...barrel, ...everyFloor] },
      to: {}
    },
    {
      name: "import-of-a-file-without-a-floor",
      severity: "error",
      comment: "Add the module to the floors in .dependency-cruiser.cjs.",
      from: {},
      to: { path: "^src/", pathNot: [...barrel, ...everyFloor] }
    },
    { name: "no-cycles", severity: "error", comment: "Not even type-only ones.", from: {}, to: { circular: true } },
    {
      name: "no-barrel-inside",
      severity: "error",
      comment: "Barrels are for users. Inside src/, import the module itself.",
      from: { path: "^src/" },
      to: { path: barrel }
    },
    {
      name: "no-production-import-of-testing",
      severity: "error",
      comment: "Users' bundles must not see the test kit.",
      from: { path: "^src/", pathNot: folder("testing") },
      to: { path: folder("testing") }
    },
    {
      name: "no-import-of-cli",
      severity: "error",
      comment: "The command line is a program, not a library.",
      from: { path: "^src/", pathNot: folder("cli") },
      to: { path: folder("cli") }
    },
    {
      name: "node-only-at-the-border",
      severity: "error",
      comment: "Floors 0 to 6 and promise/ run on any platform. What needs Node is a provider in node/.",
      from: { path: "^src/", pathNot: ["node", "adapters", "testing", "tools", "cli"].flatMap(folder) },
      to: { dependencyTypes: ["core"] }
    },
    {
      name: "no-platform-node",
      severity: "error",
      comment: "It is for tests. Providers in node/ stand on Node itself.",
      from: { path: "^src/" },
      to: { path: "node_modules/@effect/platform-node" }
    },
    {
      name: "vitest-only-in-testing-vitest",
      severity: "error",
      comment: "It is an optional peer: the rest of the test kit works with any test runner.",
      from: { path: "^src/", pathNot: "^src/testing/Vitest\\.ts$" },
      to: { path: "node_modules/(?:@effect/)?vitest" }
    },
    {
      name: "no-undeclared-dependency",
      severity: "error",
      comment: "What src/ imports is a peer dependency: users have no other.",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "unknown"], dependencyTypesNot: ["npm-peer"] }
    },
    {
      name: "no-unresolvable-import",
      severity: "error",
      comment: "Benchmarks may compare with packages that are not installed here.",
      from: { pathNot: "^test/bench/" },
      to: { couldNotResolve: true }
    },
    {
      name: "tests-use-public-paths",
      severity: "error",
      comment: "Import quiesce/..., as users do. test/internal mirrors src/internal and reaches inside.",
      from: { path: "^test/", pathNot: ["^test/(internal|support)/"] },
      to: { path: "^src/", dependencyTypesNot: ["aliased"] }
    },
    {
      name: "tests-stay-outside-internal",
      severity: "error",
      comment: "test/internal mirrors src/internal and is the only place, with test/support, that reaches inside.",
      from: { path: "^test/", pathNot: ["^test/(internal|support)/"] },
      to: { path: "^src/internal/" }
    }
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types"] }
  }
}
