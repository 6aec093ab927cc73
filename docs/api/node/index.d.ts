export * as NodeCodeRuntime from "./NodeCodeRuntime.js";
export * as NodeFileSystem from "./NodeFileSystem.js";
export * as NodeHttp from "./NodeHttp.js";
export * as NodeProcess from "./NodeProcess.js";
export * as NodeSession from "./NodeSession.js";
export * as NodeShutdown from "./NodeShutdown.js";
