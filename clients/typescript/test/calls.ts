import assert from "node:assert/strict";
import { test } from "node:test";

import { isMunimentError, MunimentError, type SliceTurn, type Turn } from "muniment";

import { served, turnOf } from "./store.js";

const { muniment } = served;

test("a turn is committed and replayed", async () => {
  const turn: Turn = turnOf("turn-1", "calls");
  const receipt = await muniment.transcripts.commit({ turn });
  assert.equal(receipt.turn, "turn-1");
  const page = await muniment.transcripts.replay({
    conversation: { conversation: "calls" },
    view: "host_ui",
    limit: 5,
  });
  const [first] = page.turns as [SliceTurn];
  assert.deepEqual(
    first.messages?.map((message) => message.parts),
    [[{ type: "text", content: "Where is my parcel?" }], [{ type: "text", content: "At the depot in Lyon." }]],
  );
});

test("parts are told apart by their type", async () => {
  const content = [
    { type: "text" as const, content: "Look:" },
    { type: "uri" as const, uri: "https://example.org/door.jpg", modality: "image" },
  ];
  await muniment.transcripts.commit({
    turn: {
      turn: "t",
      conversation: "parts",
      subject: "ada",
      messages: [
        { role: "user", content },
        { role: "assistant", content: "A door." },
      ],
    },
  });
  const page = await muniment.transcripts.replay({ conversation: { conversation: "parts" } });
  const said = page.turns?.[0]?.messages?.[0]?.parts?.map((part) => (part.type === "uri" ? part.uri : part.type));
  assert.deepEqual(said, ["text", "https://example.org/door.jpg"]);
});

test("a refusal is an error with its code and its facts", async () => {
  const unknown = await refusal(muniment.transcripts.replay({ conversation: { conversation: "no such" } }));
  assert.ok(isMunimentError(unknown, "transcript.unknown_conversation"));
  assert.deepEqual([unknown.kind, unknown.status], ["missing", 404]);
  assert.ok(unknown.message.startsWith("transcript.unknown_conversation: "));
  assert.match(unknown.requestId ?? "", /^[\w.-]+$/);
  // @ts-expect-error: the type knows which code it is
  assert.ok(unknown.code !== "access.denied");

  const misspelt = { turn: { ...turnOf("turn-1", "calls"), subjct: "ada" } };
  const invalid = await refusal(muniment.transcripts.commit(misspelt));
  assert.deepEqual([invalid.code, invalid.at, invalid.problem], ["request.invalid", "turn.subjct", "unknown_field"]);
  assert.ok(invalid.choices.includes("subject"));
});

test("types refuse what the server would", async () => {
  // @ts-expect-error: no such view
  const view = await refusal(muniment.transcripts.search({ query: "parcel", view: "everything" }));
  assert.equal(view.at, "view");
  // @ts-expect-error: a field is missing
  const missing = await refusal(muniment.evidence.prove({ conversation: { conversation: "calls" } }));
  assert.equal(missing.problem, "missing_field");
  // @ts-expect-error: no such code
  assert.equal(isMunimentError(missing, "no.such.code"), false);
});

test("a key opens what its scope names", async () => {
  const { key } = await muniment.clients.create({ client: "reader", scope: { effects: ["read"], views: ["host_ui"] } });
  const reader = served.connected({ key });
  assert.ok((await reader.system.capabilities()).operations);
  const denied = await refusal(reader.transcripts.commit({ turn: turnOf("turn-9", "calls") }));
  assert.deepEqual([denied.code, denied.status], ["access.denied", 403]);
  await muniment.clients.revoke({ client: "reader" });
  assert.equal((await refusal(reader.system.capabilities())).code, "access.not_authenticated");
});

test("the address of a server may have a path", async () => {
  const asked: string[] = [];
  const recording: typeof fetch = (...request) => {
    asked.push(String(request[0]));
    return fetch(...request);
  };
  await refusal(served.connected({ fetch: recording }, `${served.url}/behind/a/proxy`).spaces.usage());
  assert.deepEqual(asked, [`${served.url}/behind/a/proxy/v1/spaces/usage`]);
});

/** Returns the error that a call ends with. */
export async function refusal(call: Promise<unknown>): Promise<MunimentError> {
  const thrown: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(isMunimentError(thrown), `not refused: ${String(thrown)}`);
  return thrown;
}
