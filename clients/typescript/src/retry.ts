import type { MunimentError } from "./errors.js";

const FIRST_WAIT_MS = 100;
const WAIT_MS_MAX = 30_000;
const BUSY: readonly string[] = ["request.busy", "request.rate_exceeded", "store.busy", "store.closed"];

/**
 * How often and how long one call waits.
 *
 * What did not reach the server is sent again, and so is what was lost behind that: a call that changes something has
 * an idempotency key, so that it is carried out once. A server that is silent for too long is asked again only under a
 * key, which does not repeat the work. One that is busy says how long to wait. An attempt that comes while the former
 * one is still running waits for its answer.
 */
export class Patience {
  readonly #keyed: boolean;
  readonly #attemptsMax: number;
  readonly #timeoutMs: number;
  #attempts = 0;
  #waitedMs = 0;

  constructor(keyed: boolean, attemptsMax: number, timeoutMs: number) {
    this.#keyed = keyed;
    this.#attemptsMax = attemptsMax;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns how long to wait before the call is sent again; undefined where it is not. */
  waitMs(error: MunimentError): number | undefined {
    this.#attempts += 1;
    const isRunning = error.code === "request.in_progress" && error.problem === "still_running";
    const isNext = isRunning
      ? this.#attempts > 1 && this.#waitedMs < this.#timeoutMs
      : this.#attempts < this.#attemptsMax && this.#mayHelp(error);
    const waitMs = error.retryAfterMs ?? this.#growingMs();
    if (!isNext || waitMs > WAIT_MS_MAX) {
      return undefined;
    }
    this.#waitedMs += waitMs;
    return waitMs;
  }

  #mayHelp(error: MunimentError): boolean {
    if (error.code === "server.unavailable") {
      return error.problem === "timed_out" ? this.#keyed : error.problem !== "not_trusted";
    }
    return BUSY.includes(error.code);
  }

  /** Returns twice the wait before, a little more or less, so that clients do not come all at once. */
  #growingMs(): number {
    return Math.min(FIRST_WAIT_MS * 2 ** (this.#attempts - 1), WAIT_MS_MAX) * (0.5 + Math.random() / 2);
  }
}

/** Waits, unless `signal` ends it. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
