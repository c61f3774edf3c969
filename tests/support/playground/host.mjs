// worker.js without a browser: a call of machine.py on each line of stdin, its answer on stdout.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

let done;
globalThis.self = globalThis;
globalThis.postMessage = (message) => message.loaded || done(message);
globalThis.fetch = async (url) => new Response(await readFile(url));
await import(pathToFileURL(process.argv[2]).href);
for await (const line of createInterface({ input: process.stdin })) {
  const { call, values } = JSON.parse(line, (_, value) => (value?.base64 ? Uint8Array.from(Buffer.from(value.base64, "base64")) : value));
  const answer = await new Promise((resolve) => {
    done = resolve;
    self.onmessage({ data: { call, values } });
  });
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
