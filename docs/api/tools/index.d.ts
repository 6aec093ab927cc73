export * as AgentTools from "./AgentTools.js";
export * as CodeTools from "./CodeTools.js";
export * as FileTools from "./FileTools.js";
export * as HttpTools from "./HttpTools.js";
export * as ProcessTools from "./ProcessTools.js";
export * as TaskTools from "./TaskTools.js";
export * as WorkflowTools from "./WorkflowTools.js";
