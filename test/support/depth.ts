/** How deep explored tests go that do not use `it.explore`, which sees to it by itself: `EXPLORE_DEPTH=nightly`. */
export { deepened, isNightly } from "../../src/internal/testing/nightly.js"
