import { invalidOption, MunimentError } from "./errors.js";

/** How a server is called. */
export interface ConnectOptions {
  /** Client key; without it that of the environment variable MUNIMENT_CLIENT_KEY. */
  readonly key?: string | undefined;
  /** How long the server may be silent, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** How often a call is sent at most. Default: 5. */
  readonly attemptsMax?: number | undefined;
  /** What sends requests in place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** What a single call may say. */
export interface CallOptions {
  /** Ends the call, and its retries. */
  readonly signal?: AbortSignal | undefined;
  /** Key of a call that changes something. Without it each call has a key of its own, which its retries share. */
  readonly idempotencyKey?: string | undefined;
  /** How long the server may be silent, in milliseconds, in place of what the connection says. */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS_MAX = 24 * 3600 * 1000;
const ATTEMPTS_MAX = 100;
const HEADER = /^[\x21-\x7e]+$/;

/** Where a server is and how it is called. The key is sent with every request, and shown nowhere. */
export class Destination {
  readonly timeoutMs: number;
  readonly attemptsMax: number;
  readonly fetch: typeof fetch;
  readonly #base: URL;
  readonly #authorization: string;

  constructor(url: string, options: ConnectOptions) {
    this.#base = baseOf(url);
    this.#authorization = `Bearer ${keyOf(options.key)}`;
    this.timeoutMs = bounded("timeoutMs", options.timeoutMs ?? 60_000, TIMEOUT_MS_MAX);
    this.attemptsMax = bounded("attemptsMax", options.attemptsMax ?? 5, ATTEMPTS_MAX);
    this.fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
  }

  /** Returns the address of a path below that of the server. */
  address(path: string, query?: URLSearchParams): URL {
    const address = new URL(path.slice(1), this.#base);
    address.search = query?.toString() ?? "";
    return address;
  }

  /** Returns the headers of a request, with the key. */
  authorized(headers: Record<string, string>): Record<string, string> {
    return { ...headers, Authorization: this.#authorization };
  }

  /** Returns how long the server may be silent in a call. */
  timeoutOf(options: CallOptions): number {
    return bounded("timeoutMs", options.timeoutMs ?? this.timeoutMs, TIMEOUT_MS_MAX);
  }
}

/** Returns the idempotency key of a call. */
export function idempotencyKeyOf(options: CallOptions): string {
  const key = options.idempotencyKey ?? crypto.randomUUID();
  if (key.length > 255 || !HEADER.test(key)) {
    throw invalidOption("idempotencyKey", "use up to 255 visible ASCII characters");
  }
  return key;
}

function baseOf(url: string): URL {
  const base = parsed(url);
  const isPlain = base !== undefined && !base.username && !base.password && !base.search && !base.hash;
  if (!isPlain || !["http:", "https:"].includes(base.protocol)) {
    throw invalidOption("url", "use an http or https address without user, query and fragment");
  }
  base.pathname = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`;
  return base;
}

function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined; // what is thrown quotes the address, which may hold a password
  }
}

function keyOf(given: string | undefined): string {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const key = given ?? process?.env?.["MUNIMENT_CLIENT_KEY"];
  if (!key || !HEADER.test(key)) {
    const why = key ? "this is no client key" : "pass `key`, or set MUNIMENT_CLIENT_KEY";
    throw new MunimentError(`access.not_authenticated: Missing or invalid client key: ${why}`, {
      code: "access.not_authenticated",
      kind: "denied",
      at: "key",
    });
  }
  return key;
}

function bounded(at: string, given: number, highest: number): number {
  if (!(given > 0 && given <= highest)) {
    throw invalidOption(at, `use a number above 0, at most ${highest}`);
  }
  return given;
}
