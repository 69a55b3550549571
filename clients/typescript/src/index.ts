export { connect } from "./connect.js";
export type { CallOptions, ConnectOptions } from "./destination.js";
export { isMunimentError, MunimentError } from "./errors.js";
export type { Code } from "./errors.js";
export * from "./generated/operations.js";
export type * from "./generated/schemas.js";
export type { Download, Pieces, Upload } from "./streams.js";
