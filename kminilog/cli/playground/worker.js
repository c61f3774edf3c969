// One Python: it loads the runtime and the packages, then answers calls of functions of machine.py.
import { loadPyodide } from "./runtime/pyodide.mjs";

// Now and then Python reads from element 0 which signal has come: here, one whose time has come. The
// clock goes on while Python computes: most of a longer time between two readings was another program's.
// A browser computes more slowly than a machine, so each time is three times as long.
const timers = new Map();
let [used, last] = [0, 0];
const signals = {
  get 0() {
    const now = performance.now();
    used += Math.min(now - last, 500);
    last = now;
    for (const [number, at] of timers) if (at <= used) return timers.delete(number) && number;
    return 0;
  },
  set 0(_) {},
};
const setTimer = (number, seconds) => timers.set(number, used + 3000 * (seconds || Infinity));

// The page shows how many bytes have come, and what cannot be fetched: Pyodide may then wait for ever,
// so the bytes are counted whether it reads them or not.
let loaded = 0;
const count = (chunk) => self.postMessage({ loaded: (loaded += chunk.length) });
const { fetch } = self;
self.fetch = async (file, ...more) => {
  const fail = () => self.postMessage({ error: `Python does not start: ${String(file.url ?? file).split("/").at(-1)} cannot be fetched. Load this page again.` });
  const answer = await fetch(file, ...more).catch(Response.error);
  if (!answer.ok) {
    fail();
    return Response.error();
  }
  const [counted, given] = answer.body.tee();
  counted.pipeTo(new WritableStream({ write: count })).catch(fail);
  return new Response(given, answer);
};

async function start() {
  const packages = self.fetch(new URL("packages.zip", import.meta.url)).then((answer) => answer.arrayBuffer());
  const python = await loadPyodide({ env: { HOME: "/home/student", PYTHONHASHSEED: "0" } });
  python.unpackArchive(await packages, "zip", { extractDir: "/packages" });
  python.setInterruptBuffer(signals);
  // All is here, so a student's code has no reason to ask for anything, or to keep anything.
  const doors = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "Worker", "caches", "indexedDB"];
  for (let scope = self; scope; scope = Object.getPrototypeOf(scope)) doors.forEach((name) => delete scope[name]);
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  const machine = python.pyimport("kminilog.cli.playground.machine");
  machine.install(setTimer);
  return (call, ...values) => {
    const result = machine[call](...values.map((each) => python.toPy(each)));
    return result?.toJs?.({ dict_converter: Object.fromEntries }) ?? result;
  };
}

// While it starts, Pyodide cannot give back what JavaScript no longer uses, and says so. It does no harm.
self.onerror = (message) => String(message).includes("NoGilError");
const started = start();
self.onmessage = async ({ data: { call, values } }) => {
  try {
    const answer = await started;
    const result = answer(call, ...values);
    self.postMessage({ result, kept: call === "bench" ? null : answer("kept") }); // a bench leaves files alone
  } catch (error) {
    self.postMessage({ error: String(error) });
  }
};
