import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

/** What happens to one request on its way, and to its answer. */
export type Fate =
  | "passed"
  | "lost before" // the server never sees it
  | "lost behind" // the server has answered, and nobody hears it
  | "cut" // half of the answer comes
  | "kept" // no answer comes
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** What stands between a client and a server, and decides about each request. */
export class Proxy {
  /** What happens to the next requests; all others pass. */
  readonly fates: Fate[] = [];
  /** What came: method, path and headers of each request. */
  readonly seen: IncomingMessage[] = [];
  readonly #target: string;
  readonly #server = createServer((asked, answer) => this.#answered(asked, answer));

  constructor(target: string) {
    this.#target = target;
  }

  /** Listens from now on, and returns the address. */
  async listening(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    after(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts all connections that are open. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  #answered(asked: IncomingMessage, answer: ServerResponse): void {
    this.seen.push(asked);
    asked.on("error", () => undefined); // whoever asked may go away
    const fate = this.fates.shift() ?? "passed";
    if (fate === "lost before") {
      asked.socket.destroy();
    } else if (typeof fate === "object") {
      asked.resume();
      asked.on("end", () => answer.writeHead(fate.status, fate.headers).end(fate.body));
    } else {
      this.#forward(asked, answer, fate);
    }
  }

  #forward(asked: IncomingMessage, answer: ServerResponse, fate: Fate): void {
    const headers = { ...asked.headers, host: new URL(this.#target).host };
    const onward = request(new URL(asked.url!, this.#target), { method: asked.method!, headers, agent: false });
    onward.on("error", () => asked.socket.destroy());
    onward.on("response", (came) => {
      if (came.headers["content-type"]?.startsWith("text/event-stream")) {
        asked.socket.on("close", () => onward.destroy());
        answer.writeHead(came.statusCode!, came.headers);
        came.pipe(answer);
        return;
      }
      const pieces: Buffer[] = [];
      came.on("data", (piece: Buffer) => pieces.push(piece));
      came.on("end", () => {
        const body = Buffer.concat(pieces);
        if (fate === "lost behind") {
          asked.socket.destroy();
        } else if (fate !== "kept") {
          answer.writeHead(came.statusCode!, came.headers);
          const isCut = fate === "cut";
          answer.write(isCut ? body.subarray(0, body.length / 2) : body, () =>
            isCut ? asked.socket.destroy() : answer.end(),
          );
        }
      });
    });
    asked.pipe(onward);
  }
}
