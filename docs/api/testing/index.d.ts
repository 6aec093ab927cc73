export * as Explore from "./Explore.js";
export * as Invariant from "./Invariant.js";
export * as Leaks from "./Leaks.js";
export * as Sim from "./Sim.js";
export * as Tools from "./Tools.js";
export * as Transcript from "./Transcript.js";
