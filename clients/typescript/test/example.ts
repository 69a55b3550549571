import { connect, isMunimentError } from "muniment";

const muniment = connect(process.env["MUNIMENT_URL"] ?? "http://127.0.0.1:8718"); // the key is in MUNIMENT_CLIENT_KEY
const messages = [
  { role: "user" as const, content: "Where is my parcel?" },
  { role: "assistant" as const, content: "At the depot in Lyon." },
];
try {
  await muniment.transcripts.commit({ turn: { turn: "turn-1", conversation: "parcel-7", subject: "ada", messages } });
} catch (error) {
  if (!isMunimentError(error, "transcript.turn_conflict")) throw error;
  console.log("Another turn has this id.");
}
const page = await muniment.transcripts.search({ query: "parcel", limit: 5 });
for (const hit of page.hits) console.log(hit.place.turn, hit.excerpt.text);
