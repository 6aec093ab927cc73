export * from "./Agent.js";
export * from "./Call.js";
export * from "./Policy.js";
export * from "./Result.js";
export * from "./Runtime.js";
export * as Signal from "./Signal.js";
export * from "./StandardSchema.js";
export * from "./Tool.js";
