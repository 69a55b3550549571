import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { served } from "./store.js";

test("the example of the README does what it says", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const example = readFileSync(new URL("../test/example.ts", import.meta.url), "utf8");
  assert.ok(readme.includes(`\`\`\`ts\n${example}\`\`\`\n`), "README.md shows test/example.ts");
  const compiled = fileURLToPath(new URL("example.js", import.meta.url));
  const env = { ...process.env, MUNIMENT_URL: served.url, MUNIMENT_CLIENT_KEY: served.key };
  const { stdout } = await promisify(execFile)(process.execPath, [compiled], { env });
  assert.match(stdout, /^turn-1 .*parcel/m);
});
