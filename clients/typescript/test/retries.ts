import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";

import { connect } from "muniment";

import { refusal } from "./calls.js";
import { Proxy, type Fate } from "./proxy.js";
import { served, turnOf } from "./store.js";

const CONVERSATION = { conversation: "retried" };
const { muniment } = served;
const proxy = new Proxy(served.url);
const url = await proxy.listening();
const far = served.connected({}, url);
await muniment.transcripts.commit({ turn: turnOf("turn-1", CONVERSATION.conversation) });

const BUSY = problem("request.busy", 503, { "Retry-After": "0" });
const FATES: Fate[][] = [
  ["lost before"],
  ["lost behind"],
  ["cut"],
  ["lost behind", "cut", "lost before", "lost behind"],
  [BUSY, "lost behind"],
  [{ status: 502, headers: { "Content-Type": "text/html" }, body: "<h1>Bad gateway</h1>" }, "lost behind"],
];

for (const fates of FATES) {
  test(`a call is carried out once, however it is lost: ${fates.map(name).join(", ")}`, async () => {
    const plain = await eventsOf(() => muniment.evidence.export({ conversation: CONVERSATION }));
    assert.ok(plain > 0, "the call of this test is one that doubles when it is repeated");
    proxy.seen.length = 0;
    proxy.fates.push(...fates);
    assert.equal(await eventsOf(() => far.evidence.export({ conversation: CONVERSATION })), plain);
    assert.equal(proxy.seen.length, fates.length + 1);
    assert.equal(new Set(proxy.seen.map((asked) => asked.headers["idempotency-key"])).size, 1);
  });
}

test("calls have keys of their own, or the one that they are given", async () => {
  proxy.seen.length = 0;
  await far.evidence.export({ conversation: CONVERSATION });
  await far.evidence.export({ conversation: CONVERSATION });
  await far.evidence.export({ conversation: CONVERSATION }, { idempotencyKey: "mine" });
  await far.spaces.usage();
  const [first, second, third, reading] = proxy.seen.map((asked) => asked.headers["idempotency-key"]);
  assert.match(String(first), /^[0-9a-f-]{36}$/);
  assert.notEqual(first, second);
  assert.deepEqual([third, reading], ["mine", undefined]);
  const other = await refusal(far.subjects.export({ subject: "ada" }, { idempotencyKey: "mine" }));
  assert.deepEqual([other.code, other.status], ["request.key_reused", 409]);
});

test("a secret is shown once, and a retry says so", async () => {
  proxy.fates.push("lost behind");
  const lost = await refusal(far.clients.create({ client: "shown once" }));
  assert.deepEqual([lost.code, lost.problem], ["request.answer_erased", "shown_once"]);
});

test("whoever is too fast waits as long as the server says", async () => {
  proxy.seen.length = 0;
  proxy.fates.push(problem("request.rate_exceeded", 429, { "Retry-After": "1" }));
  const since = performance.now();
  await far.spaces.usage();
  assert.ok(performance.now() - since >= 995, "it waited");
  assert.equal(proxy.seen.length, 2);
});

test("the rate of a real key is kept to", async () => {
  const { key } = await muniment.clients.create({ client: "slow", scope: { requests_per_minute: 60 } });
  const slow = served.connected({ key });
  await Promise.all(Array.from({ length: 61 }, () => slow.system.capabilities()));
  const impatient = served.connected({ key, attemptsMax: 1 });
  const refused = await Promise.all(Array.from({ length: 3 }, () => refusal(impatient.system.capabilities())));
  assert.deepEqual(
    [refused[0]!.code, refused[0]!.status, refused[0]!.retryAfterMs],
    ["request.rate_exceeded", 429, 1000],
  );
});

test("nobody waits for longer than half a minute", async () => {
  proxy.seen.length = 0;
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  for (const later of ["3600", inAnHour]) {
    proxy.fates.push(problem("store.busy", 503, { "Retry-After": later }));
    assert.ok((await refusal(far.spaces.usage())).retryAfterMs! > 3_590_000);
  }
  assert.equal(proxy.seen.length, 2);
});

test("what does not pass by itself is not repeated", async () => {
  for (const code of ["store.read_only", "store.corrupt", "request.invalid", "request.in_progress"]) {
    proxy.seen.length = 0;
    proxy.fates.push(problem(code, 503));
    assert.equal((await refusal(far.spaces.usage())).code, code);
    assert.equal(proxy.seen.length, 1);
  }
});

test("an answer of something else is no report", async () => {
  const html = { "Content-Type": "text/html" };
  for (const [status, code] of [
    [200, "server.answer_invalid"],
    [404, "server.answer_invalid"],
    [504, "server.unavailable"],
  ] as const) {
    proxy.fates.push(...Array.from({ length: 5 }, () => ({ status, headers: html, body: "<h1>Hello</h1>" })));
    const error = await refusal(far.spaces.usage());
    assert.deepEqual([error.code, error.status], [code, status]);
    proxy.fates.length = 0;
  }
});

test("a silent server is given up, and asked again only where that does not repeat the work", async () => {
  const hasty = served.connected({ timeoutMs: 400 }, url);
  proxy.seen.length = 0;
  proxy.fates.push("kept");
  assert.deepEqual((await refusal(hasty.spaces.usage())).problem, "timed_out");
  assert.equal(proxy.seen.length, 1);
  proxy.fates.push("kept");
  assert.equal(await eventsOf(() => hasty.evidence.export({ conversation: CONVERSATION }, { timeoutMs: 2000 })), 1);
  assert.equal(proxy.seen.length, 3);
});

test("nobody is asked for ever", async () => {
  proxy.seen.length = 0;
  proxy.fates.push(...Array.from({ length: 9 }, (): Fate => "lost before"));
  const error = await refusal(served.connected({ attemptsMax: 3 }, url).spaces.usage());
  assert.deepEqual([error.code, error.problem, proxy.seen.length], ["server.unavailable", "connection_lost", 3]);
  proxy.fates.length = 0;
  const nobody = createServer().listen(0, "127.0.0.1");
  await once(nobody, "listening");
  const { port } = nobody.address() as AddressInfo;
  nobody.close();
  const nowhere = connect(`http://127.0.0.1:${port}`, { key: served.key, attemptsMax: 2 });
  assert.equal((await refusal(nowhere.spaces.usage())).problem, "not_reached");
});

test("a signal ends a call before it is sent, while it runs, and while it waits", async () => {
  proxy.seen.length = 0;
  await assert.rejects(far.spaces.usage({}, { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.equal(proxy.seen.length, 0);
  proxy.fates.push("kept", problem("store.busy", 503, { "Retry-After": "20" }));
  for (let each = 0; each < 2; each++) {
    const reason = new Error("enough");
    await assert.rejects(far.spaces.usage({}, { signal: signalIn(300, reason) }), (thrown) => thrown === reason);
  }
  assert.equal(proxy.seen.length, 2);
});

/** Returns a signal for a reason of its own; a timer of the platform would not keep the process alive. */
function signalIn(ms: number, reason: Error): AbortSignal {
  const ending = new AbortController();
  setTimeout(() => ending.abort(reason), ms);
  return ending.signal;
}

/** Returns how many events the log has more behind a call. */
async function eventsOf(call: () => Promise<unknown>): Promise<number> {
  const before = (await muniment.spaces.usage()).events;
  await call();
  return (await muniment.spaces.usage()).events - before;
}

function problem(code: string, status: number, headers: Record<string, string> = {}): Fate {
  const document = {
    type: `urn:muniment:${code}`,
    title: code,
    status,
    code,
    kind: "unavailable",
    message: `${code}: no`,
  };
  return {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
    body: JSON.stringify(document),
  };
}

function name(fate: Fate): string {
  return typeof fate === "string" ? fate : `answered ${fate.status}`;
}
