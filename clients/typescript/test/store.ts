import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

import { connect, type ConnectOptions, type Muniment } from "muniment";

const EVERYTHING = [
  ...["read", "append", "reveal", "erase", "admin"].flatMap((effect) => ["--effects", effect]),
  ...["raw_owner", "model_context", "host_ui", "operator_audit", "export"].flatMap((view) => ["--views", view]),
];

/** A store of its own behind a real server, and the key of a client that may do everything. */
export interface Served {
  readonly url: string;
  readonly key: string;
  readonly muniment: Muniment;
  /** Connects as the same client, with other options or through something in front of the server. */
  connected(options?: ConnectOptions, url?: string): Muniment;
}

/** Starts the server. `muniment` is a command on the path. */
async function started(): Promise<Served> {
  if (spawnSync("muniment", ["--version"]).error) {
    throw new Error("muniment is not on the path: activate the environment that it is installed in");
  }
  const folder = mkdtempSync(join(tmpdir(), "muniment-"));
  const store = [
    "--store",
    join(folder, "store"),
    "--keys",
    `file:${join(folder, "root.key")}`,
    "--pin",
    join(folder, "pins"),
  ];
  const server = spawn("muniment", ["serve", "--port", "0", ...store], { stdio: ["ignore", "pipe", "ignore"] });
  after(() => {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  const url = await addressOf(server);
  const created = spawnSync("muniment", ["clients", "create", "tester", ...EVERYTHING, ...store, "--json"], {
    encoding: "utf8",
  });
  if (created.status !== 0) {
    throw new Error(`no client: ${created.stdout}`);
  }
  const { key } = JSON.parse(created.stdout) as { key: string };
  const connected = (options: ConnectOptions = {}, at = url) => connect(at, { key, ...options });
  return { url, key, muniment: connected(), connected };
}

async function addressOf(server: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: server.stdout! })) {
    const found = /https?:\S+/.exec(line);
    if (found !== null) {
      return found[0];
    }
  }
  throw new Error("the server ended");
}

/** The server of all tests. */
export const served = await started();

/** Returns a turn of two messages. */
export function turnOf(turn: string, conversation: string) {
  return {
    turn,
    conversation,
    subject: "ada",
    messages: [
      { role: "user" as const, content: "Where is my parcel?" },
      { role: "assistant" as const, content: "At the depot in Lyon." },
    ],
  };
}
