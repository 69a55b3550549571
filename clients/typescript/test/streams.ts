import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, test } from "node:test";

import type { AddedAttachment, Download, Upload } from "muniment";

// What the generated methods stand on; `exports` keeps it from users.
import { Caller } from "../dist/caller.js";
import { Destination } from "../dist/destination.js";
import { refusal } from "./calls.js";
import { Proxy } from "./proxy.js";
import { served, turnOf } from "./store.js";

const MIB = 1 << 20;
const { muniment } = served;
const proxy = new Proxy(served.url);
const url = await proxy.listening();
const far = served.connected({}, url);
const BYTES = Uint8Array.from({ length: 300_000 }, (_, place) => place % 251);

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < BYTES.length; start += 70_000) {
    yield BYTES.subarray(start, start + 70_000);
  }
}

const UPLOADS: Record<string, () => Upload> = {
  "a Blob": () => new Blob([BYTES]),
  "an array of bytes": () => BYTES,
  "an ArrayBuffer": () => BYTES.buffer,
  "a generator": pieces,
  "a stream of Node": () => Readable.from(pieces()),
  "a stream of the web": () => new Blob([BYTES]).stream(),
  "a function": () => () => new Blob([BYTES]).stream(),
};

for (const [kind, upload] of Object.entries(UPLOADS)) {
  test(`an upload may be ${kind}`, async () => {
    const { part } = await muniment.attachments.add(upload(), { name: `${kind}.bin`, mime_type: null });
    assert.deepEqual([part.size, part.name], [BYTES.length, `${kind}.bin`]);
    const conversation = `uploads ${kind}`;
    const [asked, answered] = turnOf("t", conversation).messages;
    const content = [{ type: "text" as const, content: asked!.content }, part];
    await muniment.transcripts.commit({
      turn: { ...turnOf("t", conversation), messages: [{ ...asked!, content }, answered!] },
    });
    const place = { turn: "t", message: 0, part: 1 };
    const read = await muniment.attachments.read({
      conversation: { conversation },
      attachment: place,
      start: 250,
      length: 4,
    });
    assert.deepEqual([...Buffer.from(read.data ?? "", "base64")], [250, 0, 1, 2]);
  });
}

test("an upload that can be read again is retried, and nothing is there twice", async () => {
  for (const upload of [new Blob([BYTES]), BYTES, () => pieces()]) {
    proxy.seen.length = 0;
    proxy.fates.push("lost before", "lost behind");
    const { part } = await far.attachments.add(upload);
    assert.equal(part.size, BYTES.length);
    assert.equal(proxy.seen.length, 3);
    assert.equal(new Set(proxy.seen.map((asked) => asked.headers["idempotency-key"])).size, 1);
  }
});

test("an upload that is read once is sent once", async () => {
  proxy.seen.length = 0;
  proxy.fates.push("lost behind");
  assert.equal((await refusal(far.attachments.add(pieces()))).problem, "connection_lost");
  assert.equal(proxy.seen.length, 1);
});

test("parameters beside an upload are text, or JSON", async () => {
  proxy.seen.length = 0;
  const notes = new Blob(["# Likes\n- green tea\n"]);
  const imported = await far.memory.import(notes, { subject: "1 & 2", requester: "ä", dry_run: true, run: null });
  assert.ok(imported);
  assert.equal(new URL(proxy.seen[0]!.url!, url).search, "?subject=1+%26+2&requester=%C3%A4&dry_run=true");
});

test("a large upload takes little memory, and goes no faster than it is read", async () => {
  const size = 96 * MIB;
  const piece = new Uint8Array(MIB).fill(7);
  let highest = 0;
  async function* large(): AsyncGenerator<Uint8Array> {
    for (let sent = 0; sent < size; sent += MIB) {
      highest = Math.max(highest, process.memoryUsage().rss);
      yield piece.slice();
    }
  }
  const before = process.memoryUsage().rss;
  const added: AddedAttachment = await muniment.attachments.add(large());
  assert.equal(added.part.size, size);
  assert.ok(highest - before < size / 2, `${(highest - before) / MIB} MiB for ${size / MIB} MiB`);
});

test("an upload is refused before it is read", async () => {
  const { key } = await muniment.clients.create({ client: "no uploads", scope: { effects: ["read"] } });
  const reader = served.connected({ key });
  let taken = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      taken += MIB;
      yield new Uint8Array(MIB);
    }
  }
  assert.equal((await refusal(reader.attachments.add(endless()))).code, "access.denied");
  assert.ok(taken < 64 * MIB, `${taken / MIB} MiB were read`);
  assert.equal((await refusal(reader.attachments.add(new Blob([new Uint8Array(16 * MIB)])))).code, "access.denied");
});

test("what breaks in an upload is thrown as it is", async () => {
  const fault = new Error("the disk is gone");
  let isClosed = false;
  async function* broken(): AsyncGenerator<Uint8Array> {
    try {
      yield BYTES;
      throw fault;
    } finally {
      isClosed = true;
    }
  }
  proxy.seen.length = 0;
  await assert.rejects(
    far.attachments.add(() => broken()),
    (thrown) => thrown === fault,
  );
  assert.ok(proxy.seen.length <= 1 && isClosed);
});

test("a source that waits is not a server that is silent", async () => {
  async function* slow(): AsyncGenerator<Uint8Array> {
    for (let piece = 0; piece < 3; piece++) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      yield BYTES;
    }
  }
  const { part } = await muniment.attachments.add(slow(), {}, { timeoutMs: 400 });
  assert.equal(part.size, 3 * BYTES.length);
});

test("no timer is left of a call that has ended", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  async function* late(): AsyncGenerator<Uint8Array> {
    yield BYTES;
    await new Promise((resolve) => setTimeout(resolve, 300));
    yield BYTES;
  }
  const ending = new AbortController();
  setTimeout(() => ending.abort(), 100);
  await assert.rejects(far.attachments.add(late(), {}, { signal: ending.signal }));
  await muniment.attachments.add(BYTES);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.ok(timers() <= before, process.getActiveResourcesInfo().join());
});

test("a signal ends an upload and what it is read from", async () => {
  let isClosed = false;
  async function* waiting(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        yield BYTES;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    } finally {
      isClosed = true;
    }
  }
  const ending = new AbortController();
  setTimeout(() => ending.abort(), 200);
  await assert.rejects(muniment.attachments.add(waiting(), {}, { signal: ending.signal }), { name: "AbortError" });
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.ok(isClosed);
});

// --- downloads of the server ------------------------------------------------------------------------------------------

/** Returns the SHA-256 of bytes, in base64. */
function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** Commits a turn with an attachment, and returns what `attachments.save` is asked for it. */
async function attached(conversation: string, bytes: Uint8Array) {
  const { part } = await muniment.attachments.add(bytes, { name: "door.jpg", mime_type: "image/jpeg" });
  const turn = turnOf("t", conversation);
  const [asked, answered] = turn.messages;
  const content = [{ type: "text" as const, content: "Look:" }, part];
  await muniment.transcripts.commit({ turn: { ...turn, messages: [{ ...asked!, content }, answered!] } });
  return { conversation: { conversation }, attachment: { turn: "t", message: 0, part: 1 } };
}

test("an attachment comes as it was added, and says what it is", async () => {
  for (const size of [1, BYTES.length, 5 * MIB + 7]) {
    const bytes = Uint8Array.from({ length: size }, (_, place) => (place * 31) % 251);
    const file = await muniment.attachments.save(await attached(`saved ${size}`, bytes));
    assert.deepEqual([file.report.part?.size, file.report.part?.name], [size, "door.jpg"]);
    assert.deepEqual([file.mediaType, file.size, file.sha256], ["image/jpeg", size, digestOf(bytes)]);
    const came = new Uint8Array(await new Response(file.body!).arrayBuffer());
    assert.equal(digestOf(came), digestOf(bytes));
  }
});

test("an attachment that is gone does not come, and the report says why", async () => {
  const asked = await attached("gone", BYTES);
  const conversation = { conversation: "gone" };
  await muniment.lifecycle.request({ conversation, transition: "mask", reason: "asked_for", requester: "operator" });
  const file = await muniment.attachments.save(asked);
  assert.deepEqual([file.body, file.size, typeof file.report.withheld], [undefined, undefined, "string"]);
});

test("an archive goes out as a file, is checked as one, and comes back in", async () => {
  await attached("archived", BYTES);
  const scope = { kind: "conversation" as const, channel: "default", conversation: "archived" };
  const exported = await muniment.archives.export({ scope, private: "include" });
  const archive = new Uint8Array(await new Response(exported.body!).arrayBuffer());
  assert.deepEqual([exported.report.turns, exported.report.bytes, exported.size], [1, archive.length, archive.length]);
  assert.equal(exported.sha256, digestOf(archive));
  assert.equal((await muniment.archives.inspect(archive)).root.digest, exported.report.root.digest);

  const again = await muniment.archives.export({ scope, private: "include" });
  const restoring = { scope, private: "include" as const, mode: "restore" as const };
  const imported = await muniment.archives.import(again.body!, restoring); // from the one call into the other
  assert.deepEqual([imported.turns_deleted, imported.turns_inserted], [1, 1]);
  assert.equal(imported.root.digest, exported.report.root.digest);
  const place = { turn: "t", message: 0, part: 1 };
  const back = await muniment.attachments.save({ conversation: { conversation: "archived" }, attachment: place });
  assert.equal(back.sha256, digestOf(BYTES));
  await back.body?.cancel();
});

test("a file of the server that is cut short is an error of its stream", async () => {
  const asked = await attached("cut", BYTES);
  proxy.fates.push("cut");
  const file = await far.attachments.save(asked);
  assert.equal(file.size, BYTES.length);
  assert.equal((await refusal(new Response(file.body!).arrayBuffer())).problem, "connection_lost");
});

test("a key takes the files that it may", async () => {
  const asked = await attached("kept", BYTES);
  const { key } = await muniment.clients.create({ client: "no files", scope: { effects: ["append"] } });
  assert.equal((await refusal(served.connected({ key }).attachments.save(asked))).code, "access.denied");
});

// --- downloads -------------------------------------------------------------------------------------------------------

const ROUTE = { path: "/v1/files/save", keyed: false };
const SHA256 = createHash("sha256").update(BYTES).digest("base64");
const HEADERS = {
  "Content-Type": "image/jpeg",
  "Content-Length": String(BYTES.length),
  "Muniment-Report": '{"position":7}',
  "Repr-Digest": `sha-256=:${SHA256}:`,
};

test("a file comes as a stream, with its report", async () => {
  const file = await downloaded((answer) => answer.writeHead(200, HEADERS).end(BYTES));
  assert.deepEqual(file.report, { position: 7 });
  assert.deepEqual([file.mediaType, file.size, file.sha256], ["image/jpeg", BYTES.length, SHA256]);
  assert.deepEqual(new Uint8Array(await new Response(file.body!).arrayBuffer()), BYTES);
});

test("where nothing is written there is a report alone", async () => {
  const file = await downloaded((answer) =>
    answer.writeHead(204, { "Muniment-Report": '{"withheld":"policy"}' }).end(),
  );
  assert.deepEqual([file.report, file.body, file.size], [{ withheld: "policy" }, undefined, undefined]);
});

test("a file that is cut short, or comes no further, is an error of its stream", async () => {
  const cut = await downloaded((answer) =>
    answer.writeHead(200, HEADERS).write(BYTES.subarray(0, 9), () => answer.destroy()),
  );
  assert.equal((await refusal(new Response(cut.body!).text())).problem, "connection_lost");
  const silent = await downloaded((answer) => answer.writeHead(200, HEADERS).write(BYTES.subarray(0, 9)), 300);
  assert.equal((await refusal(new Response(silent.body!).text())).problem, "timed_out");
});

test("whoever reads a file slowly is not cut off", async () => {
  const file = await downloaded((answer) => answer.writeHead(200, HEADERS).end(BYTES), 200);
  const reader = file.body!.getReader();
  let size = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    size += piece.value.length;
    await new Promise((resolve) => setTimeout(resolve, size < 100_000 ? 300 : 0));
  }
  assert.equal(size, BYTES.length);
});

/** Returns a download from a server that answers as it is told. */
async function downloaded(
  answered: (answer: ServerResponse) => unknown,
  timeoutMs = 10_000,
): Promise<Download<object>> {
  const server = createServer((asked, answer) => {
    asked.resume();
    answered(answer);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.closeAllConnections());
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const destination = new Destination(`http://127.0.0.1:${port}`, { key: "mun_x", attemptsMax: 1, timeoutMs });
  return new Caller(destination).download<object>(ROUTE, {});
}
