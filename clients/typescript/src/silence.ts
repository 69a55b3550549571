/** Counts how long a server is silent, and ends its request when that is too long. */
export class Silence {
  /** Ends the request: too long a silence, or whoever called. */
  readonly signal: AbortSignal;
  /** Whether the silence was too long. */
  isOver = false;
  readonly #timeoutMs: number;
  readonly #ended = new AbortController();
  #isStopped = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.signal = signal === undefined ? this.#ended.signal : AbortSignal.any([signal, this.#ended.signal]);
  }

  /** Counts from now on: the server has something to do, for which it gets `moreMs` beside the usual. */
  begin(moreMs = 0): void {
    this.#isStopped = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), Math.min(this.#timeoutMs + moreMs, MS_MAX));
  }

  /** Counts no longer: whoever called has something to do. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Counts again, unless nobody waits any more. */
  resume(): void {
    if (!this.#isStopped) {
      this.begin();
    }
  }

  /** Counts no longer: nobody waits. */
  stop(): void {
    this.#isStopped = true;
    this.pause();
  }

  #end(): void {
    this.isOver = true;
    this.#ended.abort(new DOMException("The server is silent for too long.", "TimeoutError"));
  }
}

const MS_MAX = 2 ** 31 - 1; // of a timer
