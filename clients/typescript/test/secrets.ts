import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { connect, type ConnectOptions } from "muniment";

import { Proxy } from "./proxy.js";
import { served } from "./store.js";

const KEY = "mun_canary0000000000000000000000000000000000000000000";
const proxy = new Proxy(served.url);
const url = await proxy.listening();

/** Tells everything that something shows of itself. */
function shown(thing: unknown): string {
  const texts = [inspect(thing, { depth: 20, showHidden: true, getters: true }), String(thing), JSON.stringify(thing)];
  return thing instanceof Error ? [...texts, thing.stack, thing.message].join("\n") : texts.join("\n");
}

test("a connection does not show its key", () => {
  assert.ok(!shown(connect(url, { key: KEY })).includes("canary"));
});

const WAYS: Record<string, () => Promise<unknown>> = {
  "a key with a line break": async () => connect(url, { key: `${KEY}\r\nX-Other: 1` }),
  "a key with letters of another script": async () => connect(url, { key: `${KEY}ж` }),
  "an address with a password": async () => connect(`http://canary:${KEY}@127.0.0.1:8718`, { key: KEY }),
  "no address": async () => connect(KEY, { key: KEY }),
  "another scheme": async () => connect(`ftp://${KEY}/`, { key: KEY }),
  "a query in the address": async () => connect(`${url}/?key=${KEY}`, { key: KEY }),
  "a wrong option": async () => connect(url, { key: KEY, timeoutMs: Number.NaN }),
  "a wrong idempotency key": () => calling({}, { idempotencyKey: `${KEY}\n` }),
  "a key that nobody knows": () => calling(),
  "a lost connection": () => calling("lost before"),
  "a redirection": () => calling({ status: 307, headers: { Location: `${served.url}/v1/system/close` } }),
  "a page that repeats what was sent": () =>
    calling({ status: 502, headers: { "Content-Type": "text/html" }, body: `Bearer ${KEY}` }),
  "a broken problem": () =>
    calling({ status: 400, headers: { "Content-Type": "application/problem+json" }, body: `{"k": "${KEY}"` }),
  "no report": () => calling({ status: 200, headers: { "Content-Type": "application/json" }, body: `"${KEY}` }),
  silence: () => calling("kept", {}, { timeoutMs: 200 }),
  "a fetch that says what it was given": () =>
    calling({}, {}, { fetch: (...request) => Promise.reject(new TypeError(JSON.stringify(request))) }),
};

for (const [way, failing] of Object.entries(WAYS)) {
  test(`no error shows the key: ${way}`, async () => {
    const thrown = await failing().then(
      () => assert.fail("nothing was refused"),
      (error: unknown) => error,
    );
    assert.ok(thrown instanceof Error && thrown.name === "MunimentError", String(thrown));
    assert.ok(!shown(thrown).includes("canary"), shown(thrown));
    proxy.fates.length = 0;
  });
}

test("the key goes nowhere else, wherever an answer points", async () => {
  const elsewhere = new Proxy(served.url);
  proxy.fates.push({ status: 307, headers: { Location: `${await elsewhere.listening()}/v1/spaces/usage` } });
  await assert.rejects(served.connected({}, url).spaces.usage(), { code: "server.answer_invalid", status: 307 });
  assert.deepEqual(elsewhere.seen, []);
});

test("without a key the environment has it", async () => {
  process.env["MUNIMENT_CLIENT_KEY"] = served.key;
  assert.ok(await connect(served.url).spaces.usage());
  delete process.env["MUNIMENT_CLIENT_KEY"];
  assert.throws(() => connect(served.url), { code: "access.not_authenticated" });
});

function calling(
  fate: (typeof proxy.fates)[number] | Record<string, never> = {},
  call: { idempotencyKey?: string } = {},
  options: ConnectOptions = {},
): Promise<unknown> {
  if (typeof fate === "string" || "status" in fate) {
    proxy.fates.push(fate as (typeof proxy.fates)[number]);
  }
  return connect(url, { key: KEY, attemptsMax: 1, ...options }).evidence.export(
    { conversation: { conversation: "c" } },
    call,
  );
}
