import { idempotencyKeyOf, type CallOptions, type Destination } from "./destination.js";
import { answerInvalid, MunimentError, unavailable, type Answered } from "./errors.js";
import { sentEvents } from "./events.js";
import type { Problem } from "./generated/schemas.js";
import { Patience, wait } from "./retry.js";
import { Silence } from "./silence.js";
import { received, UploadBody, type Download, type Upload } from "./streams.js";

/** How an operation is asked for. */
export interface Route {
  readonly path: string;
  /** Whether it takes an idempotency key, so that a repeat changes nothing twice. */
  readonly keyed: boolean;
  /** Where the parameters are in the query: which ones are text as it stands there, and not JSON. */
  readonly text?: readonly string[];
}

/** A request that can be sent again. */
interface Call {
  readonly url: URL;
  readonly headers: Record<string, string>;
  /** Without one it is a GET. */
  readonly body?: string | UploadBody;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Makes an answer of a response; `lost` says what an error on the way means. */
type Reading<Answer> = (response: Response, silence: Silence, lost: Lost) => Promise<Answer>;
type Lost = (thrown: unknown) => unknown;

const JSON_TYPE = "application/json";
const PROBLEM_TYPE = "application/problem+json";
const BYTES_TYPE = "application/octet-stream";
const EVENTS_TYPE = "text/event-stream";
const REPORT = "Muniment-Report"; // the header with the report, where the body is a file
const PASSING = [429, 502, 503, 504]; // of a proxy in front of the server
const NOT_REACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/;
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/;

/** Calls operations of a server, and calls again where that helps. */
export class Caller {
  readonly #destination: Destination;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  /** Returns the report of an operation. */
  call<Report>(route: Route, request: object, options?: CallOptions, upload?: Upload): Promise<Report> {
    return this.#answered(route, request, options, upload, async (response, silence, lost) => {
      const text = response.body === null ? "" : await textOf(received(response.body, silence, lost));
      return reportOf<Report>(text, response.status);
    });
  }

  /** Returns the file that an operation writes, with its report. Once it comes, a loss is an error of its stream. */
  download<Report>(route: Route, request: object, options?: CallOptions): Promise<Download<Report>> {
    return this.#answered(route, request, options, undefined, async (response, silence, lost) => {
      const report = reportOf<Report>(response.headers.get(REPORT) ?? "", response.status);
      const size = response.headers.get("Content-Length");
      const isEmpty = response.status === 204 || response.body === null;
      return {
        report,
        body: isEmpty ? undefined : received(response.body, silence, lost),
        mediaType: response.headers.get("Content-Type") ?? undefined,
        size: isEmpty || size === null ? undefined : Number(size),
        sha256: /(?:^|,)\s*sha-256=:([^:]+):/.exec(response.headers.get("Repr-Digest") ?? "")?.[1],
      };
    });
  }

  /** Returns the entries of a feed as they come. A stream that is lost is asked for again, behind the last entry. */
  async *follow<Entry>(route: Route, request: object, options: CallOptions = {}): AsyncGenerator<Entry, void> {
    const url = this.#destination.address(route.path, queryOf(request, route.text ?? []));
    const call = { url, timeoutMs: this.#destination.timeoutOf(options), signal: options.signal };
    const headers: Record<string, string> = { Accept: `${EVENTS_TYPE}, ${PROBLEM_TYPE}` };
    const fresh = () => new Patience(true, this.#destination.attemptsMax, call.timeoutMs); // a repeat changes nothing
    let [patience, retryMs] = [fresh(), undefined as number | undefined];
    for (;;) {
      let ended: unknown;
      try {
        const sent = { ...call, headers: this.#destination.authorized(headers) };
        const body = await this.#attempt(sent, async (response, silence, lost) => {
          if (response.body === null || !response.headers.get("Content-Type")?.startsWith(EVENTS_TYPE)) {
            await response.body?.cancel();
            throw answerInvalid("no_events", response.status);
          }
          return received(response.body, silence, lost);
        });
        patience = fresh(); // the server is there, however quiet the feed is
        for await (const event of sentEvents(body)) {
          retryMs = event.retryMs ?? retryMs;
          if (event.type === "problem") {
            throw problemOf(event.data ?? "");
          }
          if (event.id !== undefined) {
            headers["Last-Event-ID"] = event.id;
          }
          if (event.data !== undefined) {
            yield reportOf<Entry>(event.data, 200);
          }
        }
        ended = unavailable("connection_lost"); // the server stops, or somebody between does
      } catch (error) {
        ended = error;
      }
      const waitMs = ended instanceof MunimentError ? patience.waitMs(ended) : undefined;
      if (waitMs === undefined) {
        throw ended;
      }
      await wait(Math.max(waitMs, retryMs ?? 0), call.signal);
    }
  }

  async #answered<Answer>(
    route: Route,
    request: object,
    options: CallOptions = {},
    upload: Upload | undefined,
    answerOf: Reading<Answer>,
  ): Promise<Answer> {
    const call = this.#callOf(route, request, options, upload);
    const patience = new Patience(route.keyed, this.#destination.attemptsMax, call.timeoutMs);
    for (;;) {
      try {
        return await this.#attempt(call, answerOf);
      } catch (error) {
        const waitMs = error instanceof MunimentError ? patience.waitMs(error) : undefined;
        if (waitMs === undefined || (call.body instanceof UploadBody && !call.body.isRepeatable)) {
          throw error;
        }
        await wait(waitMs, call.signal);
      }
    }
  }

  #callOf(route: Route, request: object, options: CallOptions, upload: Upload | undefined): Call {
    const headers: Record<string, string> = { Accept: `${JSON_TYPE}, ${PROBLEM_TYPE}, ${BYTES_TYPE}` };
    if (route.keyed) {
      headers["Idempotency-Key"] = idempotencyKeyOf(options);
    }
    headers["Content-Type"] = upload === undefined ? JSON_TYPE : BYTES_TYPE;
    return {
      url: this.#destination.address(route.path, upload === undefined ? undefined : queryOf(request, route.text ?? [])),
      headers: this.#destination.authorized(headers),
      body: upload === undefined ? JSON.stringify(request) : new UploadBody(upload),
      timeoutMs: this.#destination.timeoutOf(options),
      signal: options.signal,
    };
  }

  async #attempt<Answer>(call: Call, answerOf: Reading<Answer>): Promise<Answer> {
    call.signal?.throwIfAborted();
    const silence = new Silence(call.timeoutMs, call.signal);
    const lost = (thrown: unknown) => lossOf(thrown, call, silence);
    try {
      silence.begin();
      const body = call.body instanceof UploadBody ? call.body.sent(silence) : { body: call.body ?? null };
      const sent = {
        method: call.body === undefined ? "GET" : "POST",
        headers: call.headers,
        signal: silence.signal,
        redirect: "manual" as const,
        ...body,
      };
      const response = await this.#destination.fetch(call.url, sent).catch((thrown: unknown) => {
        throw lost(thrown);
      });
      if (!response.ok) {
        throw await refusalOf(response, silence, lost);
      }
      return await answerOf(response, silence, lost);
    } finally {
      silence.stop(); // until somebody reads from what is handed over
      if (call.body instanceof UploadBody) {
        call.body.end();
      }
    }
  }
}

/** Returns parameters as a query: text as it stands, JSON for anything else. */
function queryOf(request: object, text: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request) as [string, unknown][]) {
    const isText = text.includes(name);
    if (value !== undefined && !(isText && value === null)) {
      query.set(name, isText ? String(value) : JSON.stringify(value));
    }
  }
  return query;
}

/** Returns what a failure on the way means. Of what was thrown only a code is looked at: its text may quote headers. */
function lossOf(thrown: unknown, call: Call, silence: Silence): unknown {
  if (call.signal?.aborted) {
    return call.signal.reason;
  }
  if (silence.isOver) {
    return unavailable("timed_out");
  }
  if (call.body instanceof UploadBody && call.body.fault !== undefined) {
    return call.body.fault.thrown;
  }
  const code = codeOf(thrown);
  if (NOT_TRUSTED.test(code)) {
    return unavailable("not_trusted");
  }
  return unavailable(NOT_REACHED.test(code) ? "not_reached" : "connection_lost");
}

function codeOf(thrown: unknown): string {
  for (let fault = thrown; fault instanceof Error; fault = fault.cause) {
    if ("code" in fault && typeof fault.code === "string") {
      return fault.code;
    }
  }
  return "";
}

async function refusalOf(response: Response, silence: Silence, lost: Lost): Promise<MunimentError> {
  const { status, headers, body } = response;
  if (body === null || !headers.get("Content-Type")?.startsWith(PROBLEM_TYPE)) {
    await body?.cancel();
    return PASSING.includes(status)
      ? unavailable("refused_before_it", status, retryAfterMs(headers))
      : answerInvalid("no_problem_document", status);
  }
  const answer = { requestId: headers.get("X-Request-Id") ?? undefined, retryAfterMs: retryAfterMs(headers) };
  return problemOf(await textOf(received(body, silence, lost)), status, answer);
}

/** Returns a problem document as an error. */
function problemOf(text: string, status?: number, answer: Answered = {}): MunimentError {
  const problem = parsed(text);
  return isProblem(problem)
    ? new MunimentError(problem.message, { ...problem, status: status ?? problem.status }, answer)
    : answerInvalid("no_problem_document", status ?? 200);
}

function isProblem(document: unknown): document is Problem {
  const found = document as Partial<Problem> | null | undefined;
  return [found?.code, found?.kind, found?.message].every((each) => typeof each === "string");
}

/** Returns how long to wait, which is said in seconds or as a time. */
function retryAfterMs(headers: Headers): number | undefined {
  const said = headers.get("Retry-After");
  if (said === null) {
    return undefined;
  }
  const ms = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function reportOf<Report>(text: string, status: number): Report {
  const report = parsed(text);
  if (typeof report !== "object" || report === null) {
    throw answerInvalid("no_report", status);
  }
  return report as Report;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what is thrown quotes the text
  }
}

function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}
