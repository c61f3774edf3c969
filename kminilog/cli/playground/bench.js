// The benches. The address is the state: the fields of a bench, and its acts in their order. Python
// answers the whole state anew each time; this script only asks, and shows what it says.
const $ = (id) => document.getElementById(id);
const { bench: ask, lastLine, missing } = window.kminilog;
const names = [...document.querySelectorAll(".bench")].map((each) => each.id.slice("bench-".length));
const form = () => $(`bench-${name}`).querySelector(".fields");
let name = names[0];
let acts = [];
let impossible = ""; // what the address asks for
let byte = null; // the one that was chosen last: it gets the focus again after its act
let [isBusy, isOld, later, opened] = [false, false, 0, ""];

function place() {
  const [, first, query] = /^#?([^?]*)(.*)/.exec(location.hash);
  return [first === "play" ? names[0] : first, new URLSearchParams(query)];
}
function address() {
  const query = new URLSearchParams(new FormData(form()));
  for (const act of acts) query.append("act", act);
  return `#${name}?${query}`;
}
// A browser refuses too many new addresses in a short time, as when a slider is moved.
function keepAddress() {
  clearTimeout(later);
  later = setTimeout(setAddress, 300);
}
// A link may have been followed meanwhile: then its address stays, and `open` reads it next.
function setAddress() {
  if (location.hash !== opened) return;
  history.replaceState(null, "", address());
  opened = location.hash;
}
function go(now, answer) {
  clearTimeout(later);
  impossible = "";
  setAddress();
  acts = now;
  history.pushState(null, "", address());
  opened = location.hash;
  return answer && !isBusy ? show(answer) : refresh();
}

// From the address to the form: after a link, a reload, Back or Forward.
function open() {
  clearTimeout(later);
  opened = location.hash;
  const [first, query] = place();
  if (first === "step" && query.has("scene")) return openScene(query);
  if (!names.includes(first)) return;
  if (first !== name) $("answer-view").replaceChildren();
  name = first;
  for (const each of names) $(`bench-${each}`).hidden = each !== name;
  for (const link of document.querySelectorAll("#play nav a")) link.ariaCurrent = link.hash === `#${name}` ? "page" : null;
  impossible = "";
  for (const field of form().elements) {
    const wanted = query.get(field.name) ?? standard(field);
    field.value = wanted;
    if (field.value === wanted) continue;
    field.value = standard(field);
    impossible += `The link asks for ${field.name}=${wanted}, which is not possible: it is ${field.value} here. `;
  }
  const strange = [...query.keys()].filter((each) => each !== "act" && !form().elements[each]);
  if (strange.length) impossible += `The link names what this bench does not have: ${strange.join(", ")}. `;
  acts = query.getAll("act");
  showNumbers();
  refresh();
}
const standard = (field) => field.defaultValue ?? [...field.options].find((each) => each.defaultSelected).value;
function openScene(query) {
  const scene = query.get("scene");
  if (![...$("scene").options].some((each) => each.value === scene)) return missing(`step-through ${scene}`);
  $("scene").value = scene;
  $("scene").dispatchEvent(new Event("change"));
  for (const field of $(`scene-${scene}`).elements) field.value = query.getAll(field.name.replace(/^-+/, "")).join(" ");
  $("step-form").requestSubmit();
}
function showNumbers() {
  for (const each of document.querySelectorAll(".bench output")) each.value = each.previousElementSibling.value;
}

// While Python computes, more may be typed: then its answer is out of date, and is not shown.
async function refresh() {
  $("copied").textContent = "";
  isOld = true;
  if (isBusy) return;
  isBusy = true;
  while (isOld) {
    isOld = false;
    const answer = await answerTo(acts);
    if (!isOld) show(answer);
  }
  isBusy = false;
}
function answerTo(done) {
  return ask(name, Object.fromEntries(new FormData(form())), done).then((html) => ({ html }), (fault) => ({ fault }));
}
function show({ html, fault }) {
  $("copied").textContent = "";
  const view = $("answer-view");
  const hadFocus = view.contains(document.activeElement);
  view.hidden = Boolean(fault);
  $("bench-fault").textContent = fault ? lastLine(fault) : impossible;
  if (!fault) view.innerHTML = html;
  $("bench-said").textContent = view.querySelector(".say")?.textContent ?? "";
  $("acts").replaceChildren(...acts.map((act) => Object.assign(document.createElement("li"), { textContent: act })));
  $("undo").disabled = !acts.length;
  const cells = [...view.querySelectorAll(".byte")];
  const chosen = cells.find((each) => each.dataset.at === byte) ?? cells[0];
  if (chosen) chosen.tabIndex = 0;
  if (hadFocus || isActDone) chosen?.focus();
  isActDone = false;
}

// ---- acts

const quoted = (word) => (/^[\w.:/=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
let isActDone = false; // and it began at a byte
let lastAct = Promise.resolve(); // acts are done after each other, however fast they come
function act({ submitter, target }) {
  if (target.dataset.isSent) return void delete target.dataset.isSent;
  const line = [submitter.value, ...[...new FormData(target).values()].map(quoted)].join(" ");
  const bench = name;
  lastAct = lastAct.then(() => bench === name && tryAct(line, target));
}
// An act that the engine refuses is not done: its words stay in their fields, to be mended.
async function tryAct(line, fields) {
  const [bench, before] = [name, acts];
  const answer = await answerTo([...before, line]);
  if (bench !== name) return;
  if (answer.fault) return void ($("bench-fault").textContent = lastLine(answer.fault));
  isActDone = Boolean(fields.elements.hex);
  fields.reset();
  await go([...acts, line], acts === before && answer);
}
function choose(cell) {
  byte = cell.dataset.at;
  const at = $(`bench-${name}`).querySelector(".act [name=at]");
  if (!at) return;
  at.value = byte;
  delete at.form.dataset.isSent;
  const next = at.form.elements.hex ?? at;
  next.value = cell.textContent;
  next.select();
  next.focus();
}
function move(event) {
  const cells = [...$("answer-view").querySelectorAll(".byte")];
  const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  const from = cells.indexOf(event.target);
  if (from < 0 || !step) return;
  event.preventDefault();
  const to = cells[Math.min(Math.max(from + step, 0), cells.length - 1)];
  event.target.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}
$("answer-view").onclick = ({ target }) => { if (target.matches(".byte")) choose(target); };
$("answer-view").onkeydown = move;
$("undo").onclick = () => go(acts.slice(0, -1));
$("copy").onclick = async () => {
  setAddress();
  const copying = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
  $("copied").textContent = await copying.then(() => "Copied.", () => "The address of this page is the link.");
};
for (const each of document.querySelectorAll(".act")) each.onsubmit = act;
// Two digits are an act. Who then presses Enter or Set means the same one.
for (const each of document.querySelectorAll(".act [name=hex]")) {
  each.form.oninput = ({ target }) => {
    delete each.form.dataset.isSent;
    if (target !== each || !/^[0-9a-f]{2}$/i.test(each.value)) return;
    each.form.requestSubmit(each.form.querySelector("button"));
    each.form.dataset.isSent = "yes";
  };
}
for (const each of document.querySelectorAll(".fields")) {
  each.oninput = () => { impossible = ""; showNumbers(); keepAddress(); refresh(); };
}
addEventListener("hashchange", open);
open();
