export * as Signal from "./Signal.js";
