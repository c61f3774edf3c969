// The page: what is typed goes to machine.py in a worker, and what that says is shown.
const SECONDS = 120;
const LATE = `It took more than ${SECONDS} seconds, so it was ended. Is there a loop without an end?`;
const $ = (id) => document.getElementById(id);
const make = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text, ...more });

// ---- one Python at a time; after a student's code, or when it is stopped, the next one takes its place

// A worker with an address of its own would not have this page's policy, which lets nothing out.
const code = new Blob([`import ${JSON.stringify(new URL("worker.js", location).href)}`], { type: "text/javascript" });
const address = URL.createObjectURL(code);
class Python {
  worker = new Worker(address, { type: "module" });
  ask(call, ...values) {
    return new Promise((done, fail) => {
      this.end = (why) => { this.worker.terminate(); fail(new Error(why)); };
      this.worker.onmessage = ({ data }) => ("error" in data ? fail(new Error(data.error)) : done(data.result));
      this.worker.onerror = (event) => fail(new Error(event.message ?? "the worker does not start"));
      this.worker.postMessage({ call, values });
    });
  }
}
let python = new Python();
let spare = null;
let home = null; // all files, as a zip
const KEY = `kminilog ${location.pathname}`;
let turn = Promise.resolve();

function inTurn(word, work, isStudents = false) {
  const next = async () => {
    const timer = isStudents ? setTimeout(() => python.end(LATE), 1000 * SECONDS) : 0;
    $("state").textContent = word;
    $("stop").hidden = !word;
    try {
      const result = await work();
      if (isStudents) await renew();
      return result;
    } catch (error) {
      clearTimeout(timer);
      $("stop").hidden = true; // a second click would stop the next worker, too
      await renew();
      throw error;
    } finally {
      clearTimeout(timer);
      $("stop").hidden = true;
      $("state").textContent = "";
    }
  };
  turn = turn.then(next, next);
  return turn;
}
async function renew() {
  python.worker.terminate();
  python = spare ?? new Python();
  spare = new Python();
  if (home) await python.ask("unpack", home);
}
async function keep() {
  home = await python.ask("pack");
  try {
    localStorage[KEY] = btoa(Array.from(home, (byte) => String.fromCharCode(byte)).join(""));
    $("warning").hidden = true;
  } catch {
    warn("These files are too large for the browser to keep: save them as a zip.");
  }
}
function warn(text) {
  $("warning").textContent = text;
  $("warning").hidden = false;
}
const lastLine = (error) => String(error?.message ?? error).trim().split("\n").at(-1);
window.onunhandledrejection = ({ reason }) => warn(lastLine(reason));
window.onstorage = ({ key }) => { if (key === KEY) warn("Another tab keeps other files in its place: close one of the two."); };
function run(words, given = "") {
  const isStudents = words[0] === "lab" && ["check", "run", "watch"].includes(words[1]);
  const work = async () => {
    const result = await python.ask("run", words, given);
    if (result.changed.length) await keep();
    return result;
  };
  return inTurn(`kminilog ${words.join(" ")} …`, work, isStudents);
}
async function check(lab, answers) {
  return JSON.parse(await inTurn(`lab ${lab} …`, () => python.ask("check", lab, answers), true)).exercises;
}
const read = async (name) => new TextDecoder().decode(await inTurn("", () => python.ask("read", name)));
const save = (name, data) => inTurn("", () => python.ask("write", name, data).then(keep));
window.kminilog = { run, check };
$("stop").onclick = () => $("stop").hidden || python.end("Stopped.");

// A line that is too long goes on below its first word.
function write(place, text) {
  $(place).replaceChildren(...text.trimEnd().split("\n").map((line) => {
    const shown = make("div", line.trimStart() || "\n");
    shown.style.paddingLeft = `${line.length - line.trimStart().length}ch`;
    return shown;
  }));
  $(place).scrollIntoView({ block: "nearest" });
}
const refused = (error) => ({ code: 2, stdout: "", stderr: error.message, changed: [] });
async function told(place, words) {
  const result = await run(words).catch(refused);
  write(place, result.stdout + result.stderr);
  return result.code;
}
function show() {
  const name = location.hash.slice(1) || "step";
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("nav a")) link.ariaCurrent = link.hash === `#${name}` ? "page" : null;
  if (name === "files") showFiles();
  if (name === "labs" && !folder) openLab();
}

// ---- step

function showScene() {
  for (const each of document.querySelectorAll("fieldset")) each.hidden = each.id !== `scene-${$("scene").value}`;
}
async function stepThrough() {
  const words = ["step", $("scene").value, "--html", "/tmp/step.html"];
  for (const { name, value, dataset } of $(`scene-${$("scene").value}`).elements) {
    const values = dataset.many ? value.match(/\S+/g) ?? [] : value ? [value] : [];
    words.push(...values.map((each) => (name.startsWith("-") ? `${name}=${each}` : each)));
  }
  const code = await told("step-said", words);
  $("step-said").hidden = !code;
  const frame = $("trace").cloneNode(); // a frame that was hidden may stay blank
  frame.hidden = Boolean(code);
  frame.srcdoc = code ? "" : await read("/tmp/step.html");
  $("trace").replaceWith(frame);
}
function stepFile(name) {
  location.hash = "step";
  $("scene").value = "record";
  showScene();
  $("scene-record").elements[0].value = name;
  return stepThrough();
}
$("scene").onchange = showScene;
$("step-form").onsubmit = (event) => { event.preventDefault(); stepThrough(); };
$("segment").onchange = ({ target }) => addAll(target.files);

// ---- labs

let folder = "";
let later = 0;
let unsaved = null; // name and text of what was typed
async function saveTyped() {
  const typed = unsaved;
  clearTimeout(later);
  if (typed) await save(...typed);
  if (unsaved === typed) unsaved = null;
}
window.onbeforeunload = (event) => { if (unsaved) event.preventDefault(); };
const lab = () => $("exercise").value.split(".")[0];
const start = () => `${lab().padStart(2, "0")}_`;
async function openLab() {
  await saveTyped();
  const names = (await inTurn("", () => python.ask("files"))).map(([name]) => name);
  const [found] = (names.find((name) => name.startsWith(start())) ?? "").split("/");
  const [text, readme] = found ? [await read(`${found}/answers.py`), await read(`${found}/README.md`)] : [];
  folder = found;
  for (const each of document.querySelectorAll(".begun")) each.hidden = !folder;
  $("start").hidden = Boolean(folder);
  if (!folder) return;
  $("editor").value = text;
  $("readme").textContent = readme;
  const given = names.filter((name) => name.startsWith(folder) && /\/(files|broken)\//.test(name));
  $("lab-files").replaceChildren(...given.map(fileLink));
  showExercise();
}
async function startLab(event) {
  event.preventDefault();
  const { stdout, stderr } = await run(["lab", "start", lab(), "--name", $("name").value]).catch(refused);
  await openLab();
  write("lab-said", stdout + stderr);
}
function showExercise() {
  if (!folder.startsWith(start())) return openLab();
  const { kind } = $("exercise").selectedOptions[0].dataset;
  for (const each of document.querySelectorAll(".predict")) each.hidden = kind !== "predict";
  const lines = $("editor").value.split("\n");
  const line = lines.findIndex((each) => each.startsWith(`# ${$("exercise").value} `));
  if (line > 0) $("editor").scrollTop = line * parseFloat(getComputedStyle($("editor")).lineHeight);
}
async function doLab(word) {
  const number = $("exercise").value;
  const answer = word === "predict" && $("answer").value ? ["--answer", $("answer").value] : [];
  await saveTyped();
  const result = await run(["lab", word, ...(word === "progress" ? [] : [number]), ...answer]).catch(refused);
  const isQuestion = word === "predict" && !answer.length; // the terminal would ask now; here is a field
  write("lab-said", isQuestion ? result.stdout.replace(/\n.*$/, "") : result.stdout + result.stderr);
  $("answer").value = "";
  if (word === "reset") $("editor").value = await read(`${folder}/answers.py`);
}
function type(event) {
  const { value, selectionStart: start } = event.target;
  const line = value.slice(value.lastIndexOf("\n", start - 1) + 1, start);
  const indent = /^ */.exec(line)[0] + (/:\s*$/.test(line) ? "    " : "");
  const typed = { Tab: "    ".slice(line.length % 4), Enter: `\n${indent}` }[event.key];
  if (event.key === "Escape") event.target.blur(); // so that Tab leaves it
  if (typed === undefined || event.shiftKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  document.execCommand("insertText", false, typed); // so that Ctrl-Z takes it back
}
$("start").onsubmit = startLab;
$("exercise").onchange = showExercise;
$("editor").onkeydown = type;
$("editor").oninput = () => {
  unsaved = [`${folder}/answers.py`, $("editor").value];
  clearTimeout(later);
  later = setTimeout(saveTyped, 1000);
};
for (const each of document.querySelectorAll("[data-lab]")) each.onclick = () => doLab(each.dataset.lab);

// ---- shell

$("line-form").onsubmit = async (event) => {
  event.preventDefault();
  const entry = make("div", "");
  const line = $("line").value.trim().replace(/^kminilog\s+/, "");
  const words = (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  const result = await run(words, $("given").value).catch(refused);
  const error = make("pre", result.stderr, { className: result.code ? "error" : "" });
  entry.append(make("code", `$ kminilog ${line}`), make("pre", result.stdout), error);
  if (result.code) entry.append(make("p", `exit code ${result.code}`));
  if (result.changed.length) {
    const list = make("details", "");
    list.append(make("summary", `${result.changed.length} files changed`), ...result.changed.map(fileLink));
    entry.append(list);
  }
  $("log").prepend(entry);
  $("line").select();
};

// ---- files

function fileLink(name) {
  const item = make("li", "");
  item.append(make("button", name, { className: "link", type: "button", onclick: () => openFile(name) }));
  return item;
}
async function openFile(name) {
  if (/\.(log|index)$/.test(name)) return stepFile(name);
  location.hash = "files";
  $("text").textContent = await read(name);
}
async function add(file) {
  const data = new Uint8Array(await file.arrayBuffer());
  if (!file.name.endsWith(".zip")) await save(file.name, data);
  else await inTurn("", () => python.ask("unpack", data).then(keep));
}
async function showFiles() {
  const found = await inTurn("", async () => { await keep(); return python.ask("files"); });
  $("list").replaceChildren(...found.map(([name, size]) => {
    const item = fileLink(name);
    item.append(` ${size} bytes`);
    return item;
  }));
  URL.revokeObjectURL($("save").href);
  $("save").href = URL.createObjectURL(new Blob([home], { type: "application/zip" }));
}
async function addAll(files) {
  await saveTyped();
  for (const file of files) await add(file).catch((error) => warn(`${file.name}: ${lastLine(error)}`));
  folder = "";
  if (files.length === 1 && !files[0].name.endsWith(".zip")) openFile(files[0].name);
  else if (location.hash === "#files") showFiles();
  else location.hash = "files";
}
$("open").onchange = ({ target }) => addAll(target.files);
document.ondragover = (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); };
document.ondrop = (event) => {
  if (!event.dataTransfer.files.length) return; // a word that is moved in the editor
  event.preventDefault();
  addAll(event.dataTransfer.files);
};
$("clear").onclick = async () => {
  unsaved = null;
  await inTurn("", () => python.ask("clear").then(keep));
  folder = "";
  showFiles();
};

// ---- start

navigator.serviceWorker?.register("service.js");
inTurn("Python is starting …", async () => {
  if (localStorage[KEY]) home = Uint8Array.from(atob(localStorage[KEY]), (each) => each.charCodeAt(0));
  await (home ? python.ask("unpack", home) : python.ask("files"));
}).then(() => {
  showScene();
  show();
  window.onhashchange = show;
  if (!location.hash) stepThrough();
  spare = new Python();
}).catch((error) => { $("state").textContent = error.message; });
