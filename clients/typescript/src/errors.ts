import type { ErrorCode, ErrorKind } from "./generated/schemas.js";

/** What is wrong: a code of the server, or one of the two for answers that do not come. */
export type Code = ErrorCode | "server.unavailable" | "server.answer_invalid";

/** The facts of an error. None of them is content, a key or a name. */
export interface Facts {
  readonly code: Code;
  readonly kind: ErrorKind;
  readonly status?: number | undefined;
  readonly at?: string | undefined;
  readonly problem?: string | undefined;
  readonly limit?: number | undefined;
  readonly found?: number | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** What the headers of a refusal say. */
export interface Answered {
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** A call that failed: the server refused it, or gave no answer. */
export class MunimentError extends Error implements Facts {
  override readonly name = "MunimentError";
  /** What is wrong. */
  readonly code: Code;
  /** Who can act: the caller, or for `corrupt` and `unavailable` the operator. */
  readonly kind: ErrorKind;
  /** Status of the answer; undefined where none came. */
  readonly status: number | undefined;
  /** A path inside the request or the store, never a value. */
  readonly at: string | undefined;
  /** Why, as a word that never changes. */
  readonly problem: string | undefined;
  readonly limit: number | undefined;
  readonly found: number | undefined;
  /** What is accepted there, or for an unknown field the names that were probably meant. */
  readonly choices: readonly string[];
  /** Id of the request in the log of the server. */
  readonly requestId: string | undefined;
  /** How long the server asks to wait before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, facts: Facts, answer: Answered = {}) {
    super(message);
    this.code = facts.code;
    this.kind = facts.kind;
    this.status = facts.status;
    this.at = facts.at;
    this.problem = facts.problem;
    this.limit = facts.limit;
    this.found = facts.found;
    this.choices = facts.choices ?? [];
    this.requestId = answer.requestId;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/** Tells whether something that was thrown is an error of muniment, with one of these codes where any are given. */
export function isMunimentError<C extends Code = Code>(
  error: unknown,
  ...codes: readonly C[]
): error is MunimentError & { readonly code: C } {
  return error instanceof MunimentError && (codes.length === 0 || (codes as readonly Code[]).includes(error.code));
}

/** Returns the error for an option that cannot be meant. */
export function invalidOption(at: string, why: string): MunimentError {
  return new MunimentError(`request.invalid: Invalid request: ${at}: ${why}`, {
    code: "request.invalid",
    kind: "invalid",
    at,
  });
}

/** Returns the error for a call without an answer. */
export function unavailable(problem: keyof typeof LOSSES, status?: number, retryAfterMs?: number): MunimentError {
  return new MunimentError(
    `server.unavailable: Server does not answer: ${LOSSES[problem]}`,
    { code: "server.unavailable", kind: "unavailable", problem, status },
    { retryAfterMs },
  );
}

/** Returns the error for an answer that no muniment gives. */
export function answerInvalid(problem: keyof typeof MISREADINGS, status: number): MunimentError {
  return new MunimentError(
    `server.answer_invalid: Cannot read the answer: ${MISREADINGS[problem]} (status ${status}); check the address`,
    { code: "server.answer_invalid", kind: "unavailable", problem, status },
  );
}

const LOSSES = {
  not_reached: "it is not reached; check its address, and that `muniment serve` runs there",
  not_trusted: "its certificate is not trusted",
  timed_out: "it is silent for too long",
  connection_lost: "the connection was lost",
  refused_before_it: "what is in front of it refused the request",
} as const;

const MISREADINGS = {
  no_report: "it is no report",
  no_events: "it is no stream of events",
  no_problem_document: "it is no problem document",
} as const;
