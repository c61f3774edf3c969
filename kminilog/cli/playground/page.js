// The page: what is typed goes to machine.py in a worker, and what that says is shown.
import "./editor.js";

const SECONDS = 120;
const LATE = `It took more than ${SECONDS} seconds, so it was ended. Is there a loop without an end?`;
const $ = (id) => document.getElementById(id);
function make(name, more, ...parts) {
  const made = Object.assign(document.createElement(name), more);
  made.append(...parts);
  return made;
}

// ---- one Python, which does one thing after the other; when it is stopped, the next one takes its place

// A worker with an address of its own would not have this page's policy, which lets nothing out.
const code = new Blob([`import ${JSON.stringify(new URL("worker.js", location).href)}`], { type: "text/javascript" });
const address = URL.createObjectURL(code);
const [FILES, DELETED] = ["files", "deleted"]; // what the browser keeps
const tabs = new BroadcastChannel(location.pathname);
let worker = start();
let isFilled = false; // whether the worker has the files
let home = { zip: "", files: [] };
let stored = ""; // the files that it kept when this tab last looked
let agreed = []; // the files in that
let turn = load();

function start() {
  const made = new Worker(address, { type: "module" });
  made.onmessage = ({ data: { error } }) => { made.fault ??= error; }; // until it is asked something
  made.onerror = async ({ message }) => {
    made.fault = message ?? (await whyNotStarted());
    made.end?.(made.fault);
  };
  return made;
}
async function whyNotStarted() {
  const answer = await fetch("runtime/pyodide.mjs", { method: "HEAD" }).catch(() => null);
  const type = answer?.headers.get("content-type");
  if (!answer?.ok || /javascript/.test(type)) return "Python does not start: a file of this page cannot be fetched.";
  return `This web server sends files that end in .mjs as ${type}, so no browser runs them: let it send them as text/javascript.`;
}
function ask(call, ...values) {
  return new Promise((done, fail) => {
    worker.end = (why) => fail(new Error(why));
    worker.onmessage = async ({ data: { loaded, error, result, kept } }) => {
      if (loaded) return showLoaded(loaded);
      if (error) worker.end(error);
      if (kept && call === "adopt") [stored] = values;
      if (kept) await keep(kept, call === "adopt" ? result : call !== "unpack");
      done(result);
    };
    if (worker.fault) worker.end(worker.fault);
    else worker.postMessage({ call, values });
  });
}
function inTurn(word, call, ...values) {
  const isStudents = call === "check" || (call === "run" && /^lab (check|run|watch)\b/.test(values[0].join(" ")));
  const next = async () => {
    $("state").textContent = word;
    $("stop").hidden = !word;
    const work = async () => {
      if (!isFilled && call !== "clear") await ask("unpack", home.zip);
      isFilled = true;
      if (call === "adopt") values = [(await kept(FILES)) ?? "", agreed];
      const result = ask(call, ...values);
      if (isStudents) setTimeout(worker.end, 1000 * SECONDS, LATE); // it ends this call, or nothing
      return result;
    };
    const result = work();
    const why = await result.then(() => "", String);
    if (why && !why.includes("PythonError:")) renew(); // it was stopped, or cannot go on
    else if (call === "check") isFilled = false; // it had files of its own
    $("stop").hidden = true;
    $("state").textContent = "";
    return result;
  };
  turn = turn.then(next, next);
  return turn;
}
function renew() {
  worker.terminate();
  worker = start();
  isFilled = false;
}
function showLoaded(bytes) {
  const all = $("loading").max;
  $("loading").value = bytes;
  $("loading").hidden = bytes >= all;
  const [come, total] = [bytes, all].map((each) => (each / 1e6).toFixed(1));
  $("state").textContent = bytes < all ? `Python is loading: ${come} of ${total} MB` : "Python is starting …";
}

// ---- files are kept after each change; another tab may have kept other ones meanwhile

// Do work with what the browser keeps, as a whole, also between two tabs; it gives a request.
async function inStore(work) {
  const name = `kminilog ${location.pathname}`;
  const opening = indexedDB.open(name);
  opening.onupgradeneeded = () => opening.result.createObjectStore(name);
  await new Promise((done, fail) => Object.assign(opening, { onsuccess: done, onerror: () => fail(opening.error) }));
  const exchange = opening.result.transaction(name, "readwrite");
  const asked = work(exchange.objectStore(name));
  await new Promise((done, fail) => Object.assign(exchange, { oncomplete: done, onabort: () => fail(exchange.error) }));
  opening.result.close();
  return asked.result;
}
async function kept(what) {
  return inStore((store) => store.get(what));
}
function tellNotKept(error) {
  warn(`The browser does not keep these files (${error?.name}): save them as a zip.`);
}
async function load() {
  home.zip = stored = (await kept(FILES).catch(tellNotKept)) ?? "";
}
async function keep(now, isNew) {
  home = now;
  $("list").replaceChildren(...home.files.map(([name, size]) => fileLink(name, ` ${size}\u00a0bytes`)));
  if (!isNew || (await isStored(now.zip))) agreed = now.files;
}
// Keep files, unless another tab has kept some since this one looked: then these come first.
async function isStored(zip) {
  let before;
  try {
    before = await inStore((store) => {
      const read = store.get(FILES);
      read.onsuccess = () => { if ((read.result ?? "") === stored) store.put(zip, FILES); };
      return read;
    });
  } catch (error) {
    tellNotKept(error);
    return false;
  }
  if ((before ?? "") !== stored) {
    adopt();
    return false;
  }
  stored = zip;
  tabs.postMessage(FILES);
  return true;
}
async function adopt() {
  await saveTyped(); // so that nothing which is typed here is lost
  if ((await kept(FILES)) === stored) return;
  const known = home.files.map(([name]) => name);
  await inTurn("", "adopt");
  const copies = home.files.map(([name]) => name).filter((name) => /\.other-tab-/.test(name) && !known.includes(name));
  if (copies.length) warn(`Two tabs have changed the same file. Its other text is in ${copies.join(", ")}.`);
  await openExercise();
}
tabs.onmessage = adopt;
const warn = (text) => { $("warning").textContent = text; };
const lastLine = (error) => String(error?.message ?? error).trim().split("\n").at(-1).replace(/^ValueError: /, "");
window.onunhandledrejection = ({ reason }) => warn(lastLine(reason));
const refused = (error) => ({ code: 2, stdout: "", stderr: lastLine(error), changed: [] });
const run = (words, given = "") => inTurn(`kminilog ${words.join(" ")} …`, "run", words, given).catch(refused);
const check = async (lab, answers) => JSON.parse(await inTurn(`lab ${lab} …`, "check", lab, answers)).exercises;
const read = (name) => inTurn("", "read", name);
const bench = (...state) => inTurn("", "bench", ...state);
const missing = (what) => { $("missing").textContent = what && `The link is wrong: this page has no ${what}.`; };
window.kminilog = { run, check, bench, lastLine, missing };
$("stop").onclick = () => $("stop").hidden || worker.end("Stopped.");
function show() {
  const place = location.hash.slice(1).split("?")[0];
  const [, lab] = /^lab\/(.+)/.exec(place) ?? [];
  const isThere = [...$("exercise").options].some((each) => each.value === lab);
  const found = lab ? "labs" : ($(`bench-${place}`) ?? $(place || "step"))?.closest("section")?.id;
  const name = found ?? "step";
  if (isThere) $("exercise").value = lab;
  missing(found && (isThere || !lab) ? "" : place);
  if (name === "labs") chooseExercise();
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("header nav a")) link.ariaCurrent = link.hash === `#${name}` ? "page" : null;
}
window.onhashchange = show;
document.onsubmit = (event) => event.preventDefault();

// A frame that was hidden may stay blank, so there is a new one.
function showFrame(id, page) {
  const frame = $(id).cloneNode();
  frame.hidden = !page;
  frame.srcdoc = page;
  $(id).replaceWith(frame);
}

// ---- step

function showScene() {
  for (const each of document.querySelectorAll("#step-form fieldset")) each.hidden = each.id !== `scene-${$("scene").value}`;
}
async function stepThrough() {
  const words = ["step", $("scene").value, "--html", "/tmp/step.html"];
  for (const { name, value, dataset } of $(`scene-${$("scene").value}`).elements) {
    const values = value.match(dataset.many ? /\S+/g : /.+/) ?? [];
    words.push(...values.map((each) => (name.startsWith("-") ? `${name}=${each}` : each)));
  }
  const { code, stdout, stderr } = await run(words);
  $("step-said").textContent = code ? stdout + stderr : "";
  if (code) return;
  showFrame("trace", await read("/tmp/step.html"));
}
$("scene").onchange = showScene;
$("step-form").onsubmit = stepThrough;
$("segment").onchange = ({ target }) => addAll(target.files);

// ---- labs

let folder = "";
let saved = ""; // the text of its answers.py
let shown = ""; // the exercise to which the editor was moved
async function saveTyped() {
  const typed = $("editor").value;
  if (typed === saved) return;
  await inTurn("", "write", `${folder}/answers.py`, typed);
  saved = typed;
}
const saveLater = () => setTimeout(() => saveTyped().finally(saveLater), 1000);
window.onbeforeunload = (event) => { if ($("editor").value !== saved) event.preventDefault(); };
function chooseExercise() {
  const { value, selectedOptions: [{ dataset }] } = $("exercise");
  for (const each of document.querySelectorAll(".task")) each.hidden = each.id !== `task-${value}`;
  for (const each of document.querySelectorAll(".lab")) each.hidden = each.id !== `lab-${parseInt(value)}`;
  $("labs").dataset.kind = dataset.kind;
  if (shown !== value) {
    say("");
    showFrame("lab-trace", "");
    scrollTo(0, 0);
  }
  if (isReady) openExercise();
}
async function openExercise() {
  await saveTyped();
  const { value, selectedOptions: [{ dataset }] } = $("exercise");
  const names = home.files.map(([name]) => name).filter((name) => name.startsWith(`${dataset.folder}/`));
  $("labs").classList.toggle("begun", names.length);
  $("start").hidden = names.length;
  if (!names.length) return;
  const text = await read(`${dataset.folder}/answers.py`);
  if ($("editor").value !== saved) return openExercise(); // something was typed meanwhile
  const isSame = folder === dataset.folder && saved === text;
  folder = dataset.folder;
  saved = $("editor").value = text;
  $("lab-files").replaceChildren(...names.filter((name) => /\/(files|broken)\//.test(name)).map((name) => fileLink(name)));
  if (shown !== value || !isSame) $("editor").reveal(`# ${value} `);
  shown = value;
  await fillMap();
}
async function fillMap() {
  const { stdout } = await inTurn("", "run", ["lab", "progress", "--json"], "");
  const passed = JSON.parse(stdout || '{"labs":[]}').labs.flatMap((lab) => lab.passed);
  const seams = [...document.querySelectorAll("#map [data-id]")];
  for (const each of seams) each.classList.toggle("is-yours", passed.includes(each.dataset.id));
  $("yours").textContent = seams.filter((each) => each.classList.contains("is-yours")).length;
}
// A line that is too long goes on below its first word.
function say(text) {
  if (!text) return $("lab-said").replaceChildren();
  $("lab-said").replaceChildren(...text.replace(/: xxd (\S+),/, ": $1 in Files to read,").trimEnd().split("\n").map((line) => {
    const [next, exercise] = /^Next: ([\d.]+).*/.exec(line) ?? [];
    const shown = make("div", {}, ...(next ? [make("a", { href: `#lab/${exercise}` }, next)] : withLinks(line.trimStart() || "\n")));
    shown.style.paddingLeft = `${line.length - line.trimStart().length}ch`;
    return shown;
  }));
  $("lab-said").scrollIntoView({ block: "nearest" });
}
// A command is a link that does it here: a step-through in Step, all else in Shell. One that has a
// place for a name, such as FILE, is to be typed.
function withLinks(line) {
  return line.split(/((?<=: )kminilog [^·()`]+?(?= · | \(|$)|--verbose(?= ))/).map((text, at) => {
    if (!(at % 2) || /\b(FILE|BYTE)\b|[=_]N\b/.test(text)) return text;
    const [, scene, options] = /^kminilog step ([\w-]+)((?: --[\w-]+ \S+)*)$/.exec(text) ?? [];
    if ([...$("scene").options].some((each) => each.value === scene)) return make("a", { href: `#step?scene=${scene}${options.replace(/ --([\w-]+) (\S+)/g, "&$1=$2")}` }, text);
    const command = text === "--verbose" ? `lab check ${$("exercise").value} --verbose` : text;
    return make("a", { href: "#shell", onclick: () => runLine(command.replace(/ (?=(files|broken)\/)/g, ` ${folder}/`)) }, text);
  });
}
// At its end, `lab start` tells where to go and what to type in a terminal.
function fitting([group, name], stdout) {
  if (group !== "lab" || name !== "start" || !stdout) return stdout;
  return `${stdout.slice(0, stdout.lastIndexOf("\n\n"))}\n\nWrite your answer in the editor of Labs, then press Check.\n`;
}
const TRACE = "/tmp/trace.html";
async function doLab(word) {
  const { value } = $("exercise");
  const words = ["lab", word, value];
  const isTraced = word === "check" && value.includes(".") && $("labs").dataset.kind !== "predict";
  if (isTraced) words.push("--trace", "--html", TRACE);
  if (word === "predict") {
    const chosen = document.querySelector(`[name="answer-${value}"]:checked`);
    if (!chosen) return say("Choose an answer first.");
    words.push("--answer", chosen.value);
  }
  await saveTyped();
  const { stdout, stderr } = await run(words);
  const [, told, trace] = (isTraced && /^([^]*\n)\n(.*)\n$/.exec(stdout)) || ["", stdout, ""]; // its last line tells of the page
  say(told + stderr);
  showFrame("lab-trace", trace.startsWith(TRACE) ? await read(TRACE) : "");
  await (word === "reset" ? openExercise() : fillMap());
}
$("start").onsubmit = async () => {
  const { stdout, stderr } = await run(["lab", "start", `${parseInt($("exercise").value)}`, "--name", $("name").value]);
  await openExercise();
  say(fitting(["lab", "start"], stdout) + stderr);
  document.querySelector("[data-lab=check]").focus();
  scrollTo(0, 0);
};
$("exercise").onchange = () => { location.hash = `lab/${$("exercise").value}`; };
for (const each of document.querySelectorAll("[data-lab]")) each.onclick = () => doLab(each.dataset.lab);

// ---- shell

const lines = []; // that were run
let at = 0; // the one that is shown
$("line").onkeydown = (event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  at = Math.min(Math.max(at + step, 0), lines.length);
  $("line").value = lines[at] ?? "";
};
function runLine(line) {
  $("line").value = line;
  $("line-form").requestSubmit();
}
$("line-form").onsubmit = async () => {
  const line = $("line").value.trim().replace(/^kminilog\s+/, "");
  $("line").value = "";
  at = lines.push(line);
  const words = await inTurn("", "words", line).catch(refused);
  const isLine = Array.isArray(words); // else it is a fault
  const { code, stdout, stderr, changed } = isLine ? await run(words, $("given").value) : words;
  const said = [make("code", {}, `$ kminilog ${line}`), make("pre", {}, isLine ? fitting(words, stdout) : "")];
  said.push(make("pre", { className: code ? "error" : "" }, stderr), code ? `exit code ${code}` : "");
  const links = changed.map((name) => fileLink(name));
  if (changed.length) said.push(make("details", {}, make("summary", {}, `Files changed: ${changed.length}`), ...links));
  $("log").prepend(make("div", {}, ...said));
  if (changed.length) await openExercise();
};

// ---- files

const tabOf = (name) => (/\.(log|index)$/.test(name) ? "#step" : "#files");
function fileLink(name, more = "") {
  return make("li", {}, make("a", { href: tabOf(name), onclick: () => openFile(name) }, name), more);
}
async function openFile(name) {
  location.hash = tabOf(name);
  if (location.hash === "#files") {
    $("text").textContent = await inTurn("", "shown", name);
  } else {
    $("scene").value = "record";
    showScene();
    $("scene-record").elements[0].value = name;
    await stepThrough();
  }
}
async function addAll(files) {
  await saveTyped();
  const faults = [];
  for (const file of files) {
    const add = async () => inTurn("", "write", file.name, new Uint8Array(await file.arrayBuffer()));
    await add().catch((error) => faults.push(`${file.name}: ${lastLine(error)}`));
  }
  if (faults.length) warn(faults.join("\n"));
  await openExercise();
  if (files.length === 1 && !files[0].name.endsWith(".zip")) await openFile(files[0].name);
  else location.hash = "files";
}
$("open").onchange = ({ target }) => addAll(target.files);
document.ondragover = (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); };
document.ondrop = (event) => {
  if (!event.dataTransfer.files.length) return; // a word that is moved in the editor
  event.preventDefault();
  addAll(event.dataTransfer.files);
};
$("save").onclick = ({ target }) => {
  const bytes = Uint8Array.from(atob(home.zip), (each) => each.charCodeAt(0));
  URL.revokeObjectURL(target.href);
  target.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
};
$("clear").onclick = async () => {
  if (!confirm("Delete all files, also your answers to the labs?")) return;
  await saveTyped();
  const copy = home.zip;
  if (!(await inStore((store) => store.put(copy, DELETED)).catch(tellNotKept))) return; // it could not be undone
  await inTurn("", "clear");
  saved = $("editor").value; // also if a text was on its way
  $("bring-back").hidden = false;
  await openExercise();
};
$("bring-back").onclick = async () => {
  const zip = Uint8Array.from(atob((await kept(DELETED)) ?? ""), (each) => each.charCodeAt(0));
  $("bring-back").hidden = true;
  if (zip.length) await inTurn("", "write", "deleted.zip", zip);
  await inStore((store) => store.delete(DELETED));
  await openExercise();
};

// ---- start

let isReady = false;
async function begin() {
  show();
  $("bring-back").hidden = !(await kept(DELETED).catch(tellNotKept));
  await inTurn("Python is starting …", "files");
  isReady = true;
  navigator.serviceWorker?.register("service.js"); // now, as most of what it keeps has come already
  if (!location.hash) stepThrough();
  await openExercise();
}
showScene();
saveLater();
begin().catch((error) => { $("state").textContent = error.message; });
