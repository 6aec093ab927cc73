export * as Approval from "./Approval.js";
export * as FileSystem from "./FileSystem.js";
export * as Process from "./Process.js";
