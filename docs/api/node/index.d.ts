export * as NodeProcess from "./NodeProcess.js";
