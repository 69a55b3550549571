import type { Silence } from "./silence.js";

/** Bytes in pieces: a stream of the web, a stream of Node, or a generator. */
export type Pieces = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * What is uploaded. Pieces are read once, while they are sent. A function that returns them can be called again, so
 * that such an upload can be retried.
 */
export type Upload = Blob | ArrayBuffer | ArrayBufferView | Pieces | (() => Pieces);

/** A file that an operation writes, with its report. Without a `body` nothing was written, and the report says why. */
export interface Download<Report> {
  readonly report: Report;
  /** The file. Read it to its end, or cancel it. */
  readonly body: ReadableStream<Uint8Array> | undefined;
  readonly mediaType: string | undefined;
  /** Length of the file in bytes. */
  readonly size: number | undefined;
  /** SHA-256 of the file, in base64. */
  readonly sha256: string | undefined;
}

const SLOWEST_BYTES_PER_MS = 64; // how slow a network may send what it was given at once

/** The body of an upload. */
export class UploadBody {
  /** Whether it can be sent again. */
  readonly isRepeatable: boolean;
  /** What the pieces threw instead of going on. */
  fault: { readonly thrown: unknown } | undefined;
  readonly #upload: Upload;
  #pieces: AsyncIterator<Uint8Array> | undefined;

  constructor(upload: Upload) {
    this.#upload = upload;
    this.isRepeatable = typeof upload === "function" || isWhole(upload);
  }

  /** Returns what `fetch` is told about it. While the pieces are waited for, nobody waits for the server. */
  sent(silence: Silence): RequestInit & { duplex?: "half" } {
    const upload = typeof this.#upload === "function" ? this.#upload() : this.#upload;
    if (isWhole(upload)) {
      silence.begin((upload instanceof Blob ? upload.size : upload.byteLength) / SLOWEST_BYTES_PER_MS);
      return { body: upload as Blob | ArrayBuffer };
    }
    const pieces = (this.#pieces = iteratorOf(upload));
    const next = async () => {
      silence.pause();
      try {
        return await pieces.next();
      } catch (thrown) {
        this.fault = { thrown };
        throw thrown;
      } finally {
        silence.resume();
      }
    };
    // Where redirections are not errors, `fetch` keeps all that it has sent, to send it to another place.
    return { body: streamOf(next, pieces), duplex: "half", redirect: "error" };
  }

  /** Closes what the pieces come from: nobody takes any more. Not every `fetch` says so when it is ended. */
  end(): void {
    const closing = async () => this.#pieces?.return?.();
    closing().catch(() => undefined); // what becomes of the call is known already
  }
}

/** Returns the body of an answer as a stream that `silence` watches; `lost` says what an error on the way means. */
export function received(
  body: ReadableStream<Uint8Array>,
  silence: Silence,
  lost: (thrown: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const pieces = iteratorOf(body);
  const next = async () => {
    silence.begin();
    try {
      return await pieces.next();
    } catch (thrown) {
      throw lost(thrown);
    } finally {
      silence.pause();
    }
  };
  return streamOf(next, pieces);
}

function isWhole(upload: Upload): upload is Blob | ArrayBuffer | ArrayBufferView {
  return upload instanceof Blob || upload instanceof ArrayBuffer || ArrayBuffer.isView(upload);
}

function iteratorOf(pieces: Pieces): AsyncIterator<Uint8Array> {
  if (Symbol.asyncIterator in pieces) {
    return pieces[Symbol.asyncIterator]();
  }
  const reader = (pieces as ReadableStream<Uint8Array>).getReader(); // some browsers cannot iterate over a stream
  return {
    next: () => reader.read() as Promise<IteratorResult<Uint8Array>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

function streamOf(
  next: () => Promise<IteratorResult<Uint8Array>>,
  pieces: AsyncIterator<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(stream) {
        const piece = await next();
        if (piece.done) {
          stream.close();
        } else {
          stream.enqueue(piece.value);
        }
      },
      async cancel() {
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
