export * as Approval from "./Approval.js";
export * as CodeRuntime from "./CodeRuntime.js";
export * as FileSystem from "./FileSystem.js";
export * as Http from "./Http.js";
export * as Model from "./Model.js";
export * as OpenAiModel from "./OpenAiModel.js";
export * as Process from "./Process.js";
export * as Task from "./Task.js";
