// The page: what is typed goes to machine.py in a worker, and what that says is shown.
const SECONDS = 120;
const LATE = `It took more than ${SECONDS} seconds, so it was ended. Is there a loop without an end?`;
const $ = (id) => document.getElementById(id);
function make(name, more, ...parts) {
  const made = Object.assign(document.createElement(name), more);
  made.append(...parts);
  return made;
}

// ---- one Python at a time; after a student's code, or when it is stopped, the next one takes its place

// A worker with an address of its own would not have this page's policy, which lets nothing out.
const code = new Blob([`import ${JSON.stringify(new URL("worker.js", location).href)}`], { type: "text/javascript" });
const address = URL.createObjectURL(code);
const KEY = `kminilog ${location.pathname}`;
let worker = start();
let spare = null;
let isFilled = false; // whether the worker has the files
let home = { zip: "", files: [] };
let turn = Promise.resolve();

function start() {
  const made = new Worker(address, { type: "module" });
  made.onerror = ({ message }) => {
    made.fault = message ?? "the worker does not start";
    made.end?.(made.fault);
  };
  return made;
}
function ask(call, ...values) {
  return new Promise((done, fail) => {
    worker.end = (why) => fail(new Error(why));
    worker.onmessage = ({ data: { error, result, kept } }) => {
      if (error) worker.end(error);
      if (kept) keep(kept, call !== "unpack");
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
      const result = ask(call, ...values);
      if (isStudents) setTimeout(worker.end, 1000 * SECONDS, LATE); // it ends this call, or nothing
      return result;
    };
    const result = work();
    if (await result.then(() => isStudents, () => true)) renew();
    $("stop").hidden = true;
    $("state").textContent = "";
    return result;
  };
  turn = turn.then(next, next);
  return turn;
}
function renew() {
  worker.terminate();
  worker = !spare || spare.fault ? start() : spare;
  spare = start();
  isFilled = false;
}
function keep(now, isNew) {
  home = now;
  $("list").replaceChildren(...home.files.map(([name, size]) => fileLink(name, ` ${size} bytes`)));
  if (!isNew) return; // it is in the storage, or another tab has put something newer there
  try {
    localStorage[KEY] = home.zip;
    warn("");
  } catch {
    warn("These files are too large for the browser to keep: save them as a zip.");
  }
}
const warn = (text) => { $("warning").textContent = text; };
const lastLine = (error) => String(error?.message ?? error).trim().split("\n").at(-1);
window.onunhandledrejection = ({ reason }) => warn(lastLine(reason));
window.onstorage = ({ key }) => { if (key === KEY) warn("Another tab keeps other files in its place: close one of the two."); };
const refused = (error) => ({ code: 2, stdout: "", stderr: lastLine(error), changed: [] });
const run = (words, given = "") => inTurn(`kminilog ${words.join(" ")} …`, "run", words, given).catch(refused);
const check = async (lab, answers) => JSON.parse(await inTurn(`lab ${lab} …`, "check", lab, answers)).exercises;
const read = (name) => inTurn("", "read", name);
const bench = (...state) => inTurn("", "bench", ...state);
window.kminilog = { run, check, bench };
$("stop").onclick = () => $("stop").hidden || worker.end("Stopped.");
function show() {
  const place = location.hash.slice(1).split("?")[0] || "step";
  const name = $(`bench-${place}`) ? "play" : place;
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("header nav a")) link.ariaCurrent = link.hash === `#${name}` ? "page" : null;
}
window.onhashchange = show;
document.onsubmit = (event) => event.preventDefault();

// ---- step

function showScene() {
  for (const each of document.querySelectorAll("fieldset")) each.hidden = each.id !== `scene-${$("scene").value}`;
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
  const frame = $("trace").cloneNode(); // a frame that was hidden may stay blank
  frame.srcdoc = await read("/tmp/step.html");
  $("trace").replaceWith(frame);
}
$("scene").onchange = showScene;
$("step-form").onsubmit = stepThrough;
$("segment").onchange = ({ target }) => addAll(target.files);

// ---- labs

let folder = "";
let saved = ""; // the text of its answers.py
async function saveTyped() {
  const typed = $("editor").value;
  if (typed === saved) return;
  await inTurn("", "write", `${folder}/answers.py`, typed);
  saved = typed;
}
const saveLater = () => setTimeout(() => saveTyped().finally(saveLater), 1000);
window.onbeforeunload = (event) => { if ($("editor").value !== saved) event.preventDefault(); };
async function openExercise() {
  await saveTyped();
  const { value, selectedOptions: [{ dataset }] } = $("exercise");
  const names = home.files.map(([name]) => name).filter((name) => name.startsWith(`${dataset.folder}/`));
  $("labs").classList.toggle("begun", names.length);
  if (!names.length) return;
  const text = await read(`${dataset.folder}/answers.py`);
  if ($("editor").value !== saved) return openExercise(); // something was typed meanwhile
  folder = dataset.folder;
  saved = $("editor").value = text;
  $("readme").textContent = await read(`${folder}/README.md`);
  $("lab-files").replaceChildren(...names.filter((name) => /\/(files|broken)\//.test(name)).map((name) => fileLink(name)));
  const above = saved.slice(0, Math.max(0, saved.indexOf(`\n# ${value} `))).split("\n").length;
  $("editor").scrollTop = above * parseFloat(getComputedStyle($("editor")).lineHeight);
}
// A line that is too long goes on below its first word.
function say(text) {
  $("lab-said").replaceChildren(...text.trimEnd().split("\n").map((line) => {
    const shown = make("div", {}, line.trimStart() || "\n");
    shown.style.paddingLeft = `${line.length - line.trimStart().length}ch`;
    return shown;
  }));
  $("lab-said").scrollIntoView({ block: "nearest" });
}
async function doLab(word) {
  const { value } = $("exercise");
  const answer = word === "predict" && $("answer").value ? ["--answer", $("answer").value] : [];
  await saveTyped();
  const { stdout, stderr } = await run(["lab", word, ...(word === "progress" ? [] : [value]), ...answer]);
  say(word === "predict" && !answer.length ? stdout : stdout + stderr); // the terminal would ask now; here is a field
  $("answer").value = "";
  if (word === "reset") await openExercise();
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
$("start").onsubmit = async () => {
  const { stdout, stderr } = await run(["lab", "start", `${parseInt($("exercise").value)}`, "--name", $("name").value]);
  await openExercise();
  say(stdout + stderr);
};
$("exercise").onchange = openExercise;
$("editor").onkeydown = type;
for (const each of document.querySelectorAll("[data-lab]")) each.onclick = () => doLab(each.dataset.lab);

// ---- shell

$("line-form").onsubmit = async () => {
  const line = $("line").value.trim().replace(/^kminilog\s+/, "");
  const ran = inTurn("", "words", line).then((words) => run(words, $("given").value));
  const { code, stdout, stderr, changed } = await ran.catch(refused);
  const said = [make("code", {}, `$ kminilog ${line}`), make("pre", {}, stdout)];
  said.push(make("pre", { className: code ? "error" : "" }, stderr), code ? `exit code ${code}` : "");
  const links = changed.map((name) => fileLink(name));
  if (changed.length) said.push(make("details", {}, make("summary", {}, `${changed.length} files changed`), ...links));
  $("log").prepend(make("div", {}, ...said));
  $("line").select();
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
    $("text").textContent = await read(name);
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
  saved = $("editor").value;
  await inTurn("", "clear");
  saved = $("editor").value; // again, if a text was on its way
  await openExercise();
};

// ---- start

async function begin() {
  home.zip = localStorage[KEY] ?? "";
  await inTurn("Python is starting …", "files");
  show();
  if (!location.hash) stepThrough();
  spare = start();
  await openExercise();
}
navigator.serviceWorker?.register("service.js");
showScene();
saveLater();
begin().catch((error) => { $("state").textContent = error.message; });
