// Shows one step at a time. It computes nothing: each step of the document is a complete state.
"use strict";
(() => {
  const trace = JSON.parse(document.getElementById("trace").textContent);
  const root = document.documentElement;
  const sections = [...document.querySelectorAll(".step")];
  const bytesPanel = document.getElementById("bytes");
  const inspector = document.getElementById("inspector");
  const place = document.getElementById("place");
  const jump = document.getElementById("jump");
  const help = document.getElementById("help");
  const SHOWN_BYTES = 480;
  const SHOWN_BESIDE = 64; // of a file without focus, beside one that has it
  const PALETTE = 10;
  const kinds = [...new Set(trace.fields.map((field) => field.kind))];
  const files = new Map(trace.files.map((file) => [file.name, {
    ...file,
    data: Uint8Array.from(file.hex.match(/../g) || [], (pair) => parseInt(pair, 16)),
    fields: trace.fields.filter((field) => field.file === file.name),
  }]));
  const hasAddress = location.protocol !== "about:"; // in the frame of a notebook it has none
  const answered = new Set();
  let current = 0;

  const hex = (number, digits) => number.toString(16).padStart(digits, "0");
  // What could deceive a reader is escaped, as in the markup: the rules are those of text.py.
  const TRICKS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;
  const printable = (text) => String(text).replace(TRICKS, (trick) => {
    const code = trick.charCodeAt(0);
    return { 9: "\\t", 10: "\\n", 13: "\\r" }[code]
      || (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = printable(text);
    return element;
  };
  const colour = (kind) => kind === "unparsed" ? "unparsed" : "c" + (kinds.indexOf(kind) % PALETTE);

  function show(number, isToBeLinked = true) {
    current = Math.min(Math.max(number, 1), sections.length);
    sections.forEach((section, index) => {
      section.classList.toggle("current", index === current - 1);
      section.classList.toggle("waiting", Boolean(trace.steps[index].ask) && !answered.has(index + 1));
    });
    place.textContent = `${current} / ${sections.length}`;
    if (hasAddress) place.href = `#step/${current}`;
    else place.removeAttribute("href");
    for (const [id, isOff] of [["first", current === 1], ["back", current === 1],
      ["next", current === sections.length], ["last", current === sections.length]]) {
      document.getElementById(id).disabled = isOff;
    }
    if (isToBeLinked && hasAddress) history.replaceState(null, "", `#step/${current}`);
    showBytes();
    window.scrollTo(0, 0);
  }

  // While a question waits, the bytes are those of the step before: the step's own may tell the answer.
  function showBytes() {
    const step = trace.steps[current - 1];
    const isWaiting = step.ask && !answered.has(current);
    const ends = (isWaiting ? trace.steps[current - 2]?.state.ends : step.state.ends) || {};
    const names = Object.keys(ends);
    root.classList.toggle("has-bytes", names.length > 0);
    bytesPanel.querySelectorAll(".file").forEach((old) => old.remove());
    names.forEach((name) => {
      const part = make("section", "file");
      const file = files.get(name);
      const end = ends[name];
      // A file that the document has whole grows step by step; of any other, this is a part.
      const isWhole = file.data.length === file.size_bytes;
      const size = isWhole ? `${end} bytes` : `${file.size_bytes} bytes, ${end - file.start} of them here`;
      part.append(make("h3", "", `${name}: ${size}`));
      const focus = isWaiting ? [] : step.focus.filter((range) => range.file === name);
      const isBeside = !focus.length && step.focus.length && !isWaiting;
      part.append(hexView(file, end, focus, isBeside ? SHOWN_BESIDE : SHOWN_BYTES));
      bytesPanel.insertBefore(part, inspector);
    });
    const first = firstByte();
    if (first) first.tabIndex = 0;
    bytesPanel.scrollTop = 0;
    const lit = bytesPanel.querySelector(".in-focus");
    if (lit) bytesPanel.scrollTop = Math.max(lit.offsetTop - bytesPanel.offsetTop - 60, 0);
    inspect(null);
  }

  function firstByte() {
    return bytesPanel.querySelector(".in-focus .byte") || bytesPanel.querySelector(".byte");
  }

  function hexView(file, end, focus, shownBytes) {
    const view = make("div", "hex");
    view.setAttribute("role", "group");
    view.setAttribute("aria-label", `bytes of ${file.name}`);
    const fields = file.fields.filter((field) => field.start < end);
    const isIn = (field) => focus.some((range) => field.start < range.end && range.start < field.end);
    const firstIn = Math.max(fields.findIndex(isIn), 0);
    let start = firstIn;
    for (let room = shownBytes / 4; start > 0 && room > 0; start -= 1) {
      room -= fields[start - 1].end - fields[start - 1].start;
    }
    let room = shownBytes;
    let stop = start;
    while (stop < fields.length && room > 0) {
      room -= fields[stop].end - fields[stop].start;
      stop += 1;
    }
    if (start > 0) view.append(make("span", "rest", `… ${fields[start].start - file.start} bytes before`));
    fields.slice(start, stop).forEach((field, index) => {
      if (index && field.kind === "offset") view.append(make("span", "line"));
      view.append(fieldBox(file, field, end, isIn(field)));
    });
    if (stop < fields.length) {
      view.append(make("span", "rest", `… ${end - fields[stop].start} bytes more`));
    }
    return view;
  }

  function fieldBox(file, field, fileEnd, isInFocus) {
    const box = make("span", `field ${colour(field.kind)}${isInFocus ? " in-focus" : ""}`);
    const label = make("span", "label", field.name);
    label.append(make("span", "at", ` @${field.start}`));
    box.append(label);
    const end = Math.min(field.end, fileEnd, field.start + SHOWN_BYTES);
    for (let at = field.start; at < end; at += 1) {
      const byte = make("span", "byte", hex(file.data[at - file.start], 2));
      byte.tabIndex = -1;
      byte.setAttribute("role", "button");
      byte.setAttribute("aria-label", `byte ${at}, ${field.name}, hex ${byte.textContent}`);
      byte.addEventListener("mouseenter", () => { if (!isChosen()) inspect(file, field, at, box); });
      byte.addEventListener("focus", () => inspect(file, field, at, box));
      byte.addEventListener("click", () => byte.focus());
      box.append(byte);
    }
    if (end < Math.min(field.end, fileEnd)) box.append(make("span", "rest", " …"));
    return box;
  }

  // A byte that was clicked stays, so that the mouse can go from it to the inspector.
  function isChosen() {
    const holder = document.activeElement;
    return holder.classList.contains("byte") || inspector.contains(holder);
  }

  function inspect(file, field, at, box) {
    bytesPanel.querySelectorAll(".lit").forEach((old) => old.classList.remove("lit"));
    inspector.replaceChildren();
    if (!file) {
      inspector.append(make("p", "rest", "Point at a byte; a click keeps it. Or press b and use the arrow keys."));
      return;
    }
    box.classList.add("lit");
    const bytes = file.data.slice(field.start - file.start, field.end - file.start);
    const byte = file.data[at - file.start];
    const character = byte >= 32 && byte < 127 ? `, “${String.fromCharCode(byte)}”` : "";
    const lines = [
      `byte ${at} (0x${hex(at, 1)}): ${hex(byte, 2)} = ${byte}, signed ${byte << 24 >> 24}${character}`,
      `field ${field.name}: bytes ${field.start} to ${field.end - 1}` +
        (field.value === null ? "" : `, says ${field.value}`),
    ];
    if (bytes.length <= 8) {
      for (const [name, order] of [["big-endian", [...bytes]], ["little-endian", [...bytes].reverse()]]) {
        const unsigned = order.reduce((sum, one) => sum * 256n + BigInt(one), 0n);
        const bits = bytes.length * 8;
        lines.push(`${name}: ${unsigned} unsigned, ${BigInt.asIntN(bits, unsigned)} signed`);
      }
    }
    const text = new TextDecoder("utf-8").decode(bytes.slice(0, 64));
    lines.push(`as text: ${JSON.stringify(text)}${bytes.length > 64 ? " …" : ""}`);
    lines.forEach((line) => inspector.append(make("p", "", line)));
    if (trace.what_if && trace.what_if.file === file.name) inspector.append(whatIf(file, at, byte));
  }

  function whatIf(file, at, byte) {
    const form = make("p", "what-if", "Change this byte to ");
    const input = make("input");
    input.value = hex(byte ^ 1, 2);
    input.maxLength = 2;
    input.setAttribute("aria-label", "new value of the byte, in hex");
    const verdict = make("span", "changed-to");
    verdict.setAttribute("role", "status");
    const tell = () => {
      const value = /^[0-9a-f]{1,2}$/i.test(input.value) ? parseInt(input.value, 16) : NaN;
      const letter = trace.what_if.outcomes[at - file.start][value];
      verdict.textContent = letter === undefined ? " two hex digits, please"
        : ` → ${trace.what_if.meanings[letter]}`;
    };
    input.addEventListener("input", tell);
    tell();
    form.append(input, verdict);
    return form;
  }

  function ask(section, number) {
    const old = section.querySelector(".ask");
    if (!old) return;
    const { question, choices } = trace.steps[number - 1].ask;
    const box = make("div", "ask quiz");
    box.append(make("p", "", question));
    const buttons = make("div", "choices");
    const verdict = make("p", "verdict");
    verdict.setAttribute("role", "status");
    choices.forEach((choice) => {
      const button = make("button", "", choice.answer);
      button.type = "button";
      button.addEventListener("click", () => {
        verdict.className = `verdict ${choice.is_right ? "is-right" : "is-wrong"}`;
        const judged = choice.is_right ? "Right" : "Not";
        verdict.textContent = printable(`${judged} ${choice.answer}: ${choice.why}`);
        if (choice.is_right) reveal(number);
      });
      buttons.append(button);
    });
    const tellMe = make("button", "", "Show the answer");
    tellMe.type = "button";
    tellMe.addEventListener("click", () => {
      const right = choices.find((choice) => choice.is_right);
      verdict.className = "verdict is-right";
      verdict.textContent = printable(`It is ${right.answer}: ${right.why}`);
      reveal(number);
    });
    buttons.append(tellMe);
    box.append(buttons, verdict);
    old.before(box);
    old.classList.add("on-paper");
  }

  function reveal(number) {
    answered.add(number);
    sections[number - 1].classList.remove("waiting");
    showBytes();
  }

  function fromHash(isToBeLinked) {
    const match = /^#step\/(\d+)$/.exec(location.hash);
    show(match ? Number(match[1]) : 1, isToBeLinked);
  }

  function moveByte(from, event) {
    const all = [...bytesPanel.querySelectorAll(".byte")];
    const index = all.indexOf(from);
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 8, ArrowUp: -8 }[event.key];
    if (event.key === "Escape") from.blur();
    else if (by === undefined) return false;
    else all[Math.min(Math.max(index + by, 0), all.length - 1)].focus();
    event.preventDefault();
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target.classList && target.classList.contains("byte") && moveByte(target, event)) return;
    if (target.tagName === "INPUT") {
      if (event.key === "Escape") target.blur();
      return;
    }
    const action = {
      ArrowRight: () => show(current + 1), ArrowLeft: () => show(current - 1),
      Home: () => show(1), End: () => show(sections.length),
      g: () => { jump.focus(); jump.select(); },
      b: () => { firstByte()?.focus(); },
      "?": () => (help.open ? help.close() : help.showModal()),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const [id, go] of [["first", () => 1], ["back", () => current - 1],
    ["next", () => current + 1], ["last", () => sections.length]]) {
    document.getElementById(id).addEventListener("click", () => show(go()));
  }
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  jump.max = sections.length;
  jump.addEventListener("change", () => { show(Number(jump.value) || current); jump.blur(); });
  window.addEventListener("hashchange", () => fromHash(false));
  sections.forEach((section, index) => ask(section, index + 1));
  root.classList.add("js");
  fromHash(false);
})();
