/** A Server-Sent Event as it came. */
export interface SentEvent {
  readonly type: string;
  /** What a stream goes on behind; undefined where nothing is said. */
  readonly id: string | undefined;
  /** What it says; undefined where it only moves the place where the stream goes on. */
  readonly data: string | undefined;
  /** How long to wait before the stream is asked for again, in milliseconds. */
  readonly retryMs: number | undefined;
}

/** Returns the events of a stream (HTML Living Standard, 9.2.6). Whoever leaves them early ends the stream. */
export async function* sentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SentEvent, void> {
  let fields = new Map<string, string[]>();
  for await (const line of linesOf(body)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
    if (line !== "") {
      fields.set(name!, [...(fields.get(name!) ?? []), value!]);
    } else if (fields.size > 0) {
      yield eventOf(fields);
      fields = new Map();
    }
  }
}

function eventOf(fields: Map<string, string[]>): SentEvent {
  const retry = fields.get("retry")?.at(-1) ?? "";
  return {
    type: fields.get("event")?.at(-1) ?? "message",
    id: fields.get("id")?.at(-1),
    data: fields.get("data")?.join("\n"),
    retryMs: /^\d+$/.test(retry) ? Number(retry) : undefined,
  };
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + decoder.decode(piece.value, { stream: true })).split(/\r\n|\n|\r(?=[^])/);
      rest = lines.pop()!; // it may go on, and so may the end of a line
      yield* lines;
    }
  } finally {
    await reader.cancel();
  }
}
