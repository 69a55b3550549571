import assert from "node:assert/strict";
import { test } from "node:test";

import { isMunimentError, MunimentError, type SpaceEvent } from "muniment";

// What the generated method stands on; `exports` keeps it from users.
import { sentEvents } from "../dist/events.js";
import { refusal } from "./calls.js";
import { Proxy } from "./proxy.js";
import { served, turnOf } from "./store.js";

const { muniment } = served;
const proxy = new Proxy(served.url);
const url = await proxy.listening();
const far = served.connected({}, url);

const BY_OPERATOR = { reason: "asked_for", requester: "operator" };

/** Reads a stream step by step. Nobody waits for longer than 15 seconds. */
async function next(feed: AsyncGenerator<SpaceEvent, void>): Promise<SpaceEvent> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no event came")), 15_000);
  });
  const came = await Promise.race([feed.next(), late]).finally(() => clearTimeout(timer));
  assert.ok(!came.done);
  return came.value;
}

/** Commits turns of a conversation. */
async function say(conversation: string, ...turns: string[]): Promise<void> {
  for (const turn of turns) {
    await muniment.transcripts.commit({ turn: turnOf(turn, conversation) });
  }
}

test("what happens is told as it happens, with its types", async () => {
  await say("told", "t-1");
  const feed = muniment.events.follow({ conversation: "told", view: "host_ui" });
  const first = await next(feed);
  assert.deepEqual([first.type, first.topic, first.turn], ["turn.committed", "transcript", "t-1"]);
  assert.deepEqual(first.shown?.messages?.[0]?.parts, [{ type: "text", content: "Where is my parcel?" }]);
  await say("told", "t-2");
  await muniment.lifecycle.erase({ scope: { conversation: "told", turn: "t-1" }, ...BY_OPERATOR });
  assert.deepEqual([(await next(feed)).turn, (await next(feed)).type], ["t-2", "turn.erased"]);
  await feed.return();
});

test("whoever leaves the loop ends the stream", async () => {
  await say("left", "t-1");
  const lateMs = Date.now() + 20_000;
  for (let left = 0; left < 12; ) {
    // more than a key may have open at once; the server takes a moment to see that somebody went
    try {
      for await (const event of muniment.events.follow({ conversation: "left" })) {
        assert.equal(event.turn, "t-1");
        left += 1;
        break;
      }
    } catch (error) {
      assert.ok(isMunimentError(error, "request.streams_exceeded") && Date.now() < lateMs, String(error));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
});

test("a connection that is lost is made again, and nothing is missed or told twice", async () => {
  await say("lost", "t-1", "t-2");
  proxy.seen.length = 0;
  const feed = far.events.follow({ conversation: "lost" });
  const told = [(await next(feed)).turn, (await next(feed)).turn];
  for (const turn of ["t-3", "t-4"]) {
    proxy.cut();
    await say("lost", turn);
    told.push((await next(feed)).turn);
  }
  proxy.fates.push("lost before");
  proxy.cut();
  await say("lost", "t-5");
  const last = await next(feed);
  assert.deepEqual([...told, last.turn], ["t-1", "t-2", "t-3", "t-4", "t-5"]);
  assert.equal(proxy.seen.length, 5);
  assert.equal(proxy.seen[0]!.headers["last-event-id"], undefined);
  await feed.return();

  const later = muniment.events.follow({ conversation: "lost", after: last.id });
  await say("lost", "t-6");
  assert.equal((await next(later)).turn, "t-6");
  await later.return();
});

test("a stream that is silent for too long is asked for again, as often as it takes", async () => {
  await say("silent", "t-1");
  proxy.seen.length = 0;
  const feed = served.connected({ attemptsMax: 2 }, url).events.follow({ conversation: "silent" }, { timeoutMs: 200 });
  assert.equal((await next(feed)).turn, "t-1");
  const coming = next(feed);
  for (const lateMs = Date.now() + 10_000; proxy.seen.length < 5 && Date.now() < lateMs; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await say("silent", "t-2");
  assert.equal((await coming).turn, "t-2");
  await feed.return();
});

test("a stream ends with the key", async () => {
  const { key } = await muniment.clients.create({ client: "follower" });
  await say("ended", "t-1");
  const feed = served.connected({ key }).events.follow({ conversation: "ended" });
  await next(feed);
  await muniment.clients.revoke({ client: "follower" });
  const error = await refusal(next(feed));
  assert.deepEqual([error.code, error.status], ["access.not_authenticated", 401]);
});

test("what may not be followed is refused, and what is no stream is none", async () => {
  const { key } = await muniment.clients.create({ client: "curious" });
  const denied = await refusal(next(served.connected({ key }).events.follow({ topics: ["governance"] })));
  assert.deepEqual([denied.kind, denied.status], ["denied", 403]);
  const [html, body] = [{ "Content-Type": "text/html" }, "<h1>Hello</h1>"];
  proxy.fates.push({ status: 200, headers: html, body });
  assert.equal((await refusal(next(far.events.follow()))).problem, "no_events");
  proxy.seen.length = 0;
  proxy.fates.push({ status: 502, headers: html, body }, { status: 502, headers: html, body });
  const lost = await refusal(next(served.connected({ attemptsMax: 2 }, url).events.follow()));
  assert.deepEqual([lost.problem, proxy.seen.length], ["refused_before_it", 2]);
});

test("a signal ends a stream that waits", async () => {
  const [ending, reason] = [new AbortController(), new Error("enough")];
  const feed = muniment.events.follow({ after: "now" }, { signal: ending.signal });
  setTimeout(() => ending.abort(reason), 300);
  await assert.rejects(next(feed), (thrown) => thrown === reason);
  await assert.rejects(next(muniment.events.follow({}, { signal: AbortSignal.abort(reason) })), reason);
});

test("events are the same, however the bytes come in pieces and lines end", async () => {
  const lines = [": hello", "retry: 70", "", "id: 1", "event: ä", 'data: {"a":', "data:1}", "", "id:2", "", "", "data: x"];
  const expected = [
    { type: "message", id: undefined, data: undefined, retryMs: 70 },
    { type: "ä", id: "1", data: '{"a":\n1}', retryMs: undefined },
    { type: "message", id: "2", data: undefined, retryMs: undefined },
  ];
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = new TextEncoder().encode(lines.join(end));
    for (const size of [1, 2, 3, 5, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) =>
        bytes.subarray(place * size, (place + 1) * size),
      );
      const found = [];
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          pieces.forEach((piece) => stream.enqueue(piece));
          stream.close();
        },
      });
      for await (const event of sentEvents(body)) {
        found.push(event);
      }
      assert.deepEqual(found, expected);
    }
  }
});

test("no error of a stream shows the key", async () => {
  const thrown = await refusal(next(served.connected({ attemptsMax: 1 }, "http://127.0.0.1:9").events.follow()));
  assert.ok(thrown instanceof MunimentError && !`${thrown.message}${thrown.stack}`.includes(served.key));
});
