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
  const dots = document.getElementById("dots");
  const done = document.getElementById("done");
  const said = document.getElementById("said");
  const SHOWN_BYTES = 480;
  const SHOWN_BESIDE = 64; // of a file without focus, beside one that has it
  const FOLDED = 16; // so many equal bytes or more are folded
  const files = new Map(trace.files.map((file) => [file.name, {
    ...file,
    data: Uint8Array.from(file.hex.match(/../g) || [], (pair) => parseInt(pair, 16)),
    fields: trace.fields.filter((field) => field.file === file.name),
  }]));
  const opensAt = Number(document.currentScript.dataset.first); // without an address of a step
  const hasAddress = location.protocol !== "about:"; // in the frame of a notebook it has none
  const given = new Map(); // for each question, the numbers of the answers that were given
  const answered = new Set(); // right, or told
  const quizzes = trace.steps.flatMap((step, index) => step.ask ? [index + 1] : []);
  let current = 0;
  let asked = 0; // the step at which a question of a step-through beside this one waits

  const hex = (number, digits) => number.toString(16).padStart(digits, "0");
  // What could deceive a reader is escaped, as in the markup: the rules are those of text.py.
  const TRICKS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu;
  const character = (byte) => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "";
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
  const isWaiting = (number) => Boolean(trace.steps[number - 1].ask) && !answered.has(number);

  // Tell the page around this one, if there is one.
  const tell = (what) => { if (parent !== window) parent.postMessage(what, "*"); };

  // The section whose state is to be seen: while a question waits, that of the step before it.
  const shown = () => current - 1 - (isWaiting(current) && current > 1);
  const evidence = () => sections[shown()];

  function show(number, isToBeLinked = true, isFollowing = false) {
    const places = current ? placesIn(evidence()) : null;
    current = Math.min(Math.max(number, 1), sections.length);
    showSections();
    showBytes();
    if (places) move(places, evidence());
    done.value = current;
    done.style.setProperty("--part", `${100 * (current - 1) / Math.max(sections.length - 1, 1)}%`);
    done.setAttribute("aria-valuetext", `step ${current} of ${sections.length}`);
    place.textContent = `${current} / ${sections.length}`;
    if (hasAddress) place.href = `#step/${current}`;
    else place.removeAttribute("href");
    for (const [id, isOff] of [["first", current === 1], ["back", current === 1],
      ["next", current === sections.length], ["last", current === sections.length]]) {
      document.getElementById(id).disabled = isOff;
    }
    if (isToBeLinked && hasAddress) history.replaceState(null, "", `#step/${current}`);
    window.scrollTo(0, 0);
    if (!isFollowing) tell({ step: current });
  }

  // Scroll a box, not the page, until something in it is to be seen.
  function reveal(box, element) {
    if (!box || !element) return;
    const [seen, it] = [box.getBoundingClientRect(), element.getBoundingClientRect()];
    if (it.left < seen.left || it.right > seen.right) {
      box.scrollLeft += it.left - seen.left - Math.max(seen.width - it.width, 0) / 2;
    }
    const heading = element.closest(".file, table")?.querySelector("h3, th").offsetHeight || 0; // it stays, above the rest
    if (it.top < seen.top + heading || it.bottom > seen.bottom) box.scrollTop += it.top - seen.top - heading - 8;
  }

  function showSections() {
    sections.forEach((section, index) => {
      section.classList.toggle("current", index === current - 1);
      section.classList.toggle("waiting", isWaiting(index + 1));
      section.classList.toggle("before", index === current - 2 && isWaiting(current));
    });
    const step = trace.steps[current - 1];
    said.textContent = printable(`Step ${current} of ${sections.length}. ${isWaiting(current) ? step.ask.question : step.say}`);
    markAnswers();
    tell({ asked: isWaiting(current) ? current : 0 });
  }

  // Bytes that are shown apart from the rest of their file have the place of the part in the name.
  const fileOf = (element) => element.closest("[data-file]")?.dataset.file.replace(/ at byte \d+$/, "");
  const MOVING = ".bar[data-key], [data-file] .bar";
  // What stays the same thing has the same key; of bytes, this is where they begin.
  const keyOf = (bar) => bar.dataset.key ?? `${fileOf(bar)} ${bar.dataset.start}`;

  // What a picture shows: the place of each bar that stays the same thing from step to step.
  function placesIn(section) {
    const picture = section.querySelector(".picture");
    if (!picture) return new Map();
    const corner = picture.getBoundingClientRect();
    return new Map([...picture.querySelectorAll(MOVING)].map((bar) => {
      const box = bar.getBoundingClientRect();
      return [keyOf(bar), { x: box.x - corner.x, y: box.y - corner.y, width: box.width }];
    }));
  }

  // Let the bars of a picture come from where they stood, as wide as they were, in a fifth of a second.
  function move(before, section) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const now = placesIn(section);
    const scale = 1 / (section.querySelector(".picture")?.getScreenCTM().a || 1);
    section.querySelectorAll(MOVING).forEach((bar) => {
      const [old, place] = [before.get(keyOf(bar)), now.get(keyOf(bar))];
      if (!old) { bar.animate([{ opacity: 0 }, { opacity: 1 }], 200); return; }
      const [x, y] = [old.x - place.x, old.y - place.y].map((by) => Math.round(by * scale * 100) / 100);
      const wider = old.width / place.width || 1;
      if (Math.abs(x) + Math.abs(y) + Math.abs(old.width - place.width) < 1) return;
      bar.animate([{ transform: `translate(${x}px, ${y}px) scaleX(${wider})` }, { transform: "none" }], 200);
    });
  }

  // While a question waits, the bytes are those of the step before: the step's own may tell the answer.
  function showBytes() {
    const step = trace.steps[shown()];
    const isHidden = isWaiting(current) && current === 1;
    const { ends, values, tables } = isHidden ? { ends: {}, values: {}, tables: [] } : step.state;
    const names = Object.keys(ends);
    root.classList.toggle("has-bytes", names.length > 0);
    root.classList.toggle("has-tables", tables.length > 0);
    root.classList.toggle("has-state", Object.keys(values).length + tables.length > 0);
    bytesPanel.querySelectorAll(".file").forEach((old) => old.remove());
    names.forEach((name) => {
      const part = make("section", "file");
      const file = files.get(name);
      const end = ends[name];
      // A file that the document has whole grows step by step; of any other, this is a part.
      const isWhole = file.data.length === file.size_bytes;
      const bytes = (end - file.start).toLocaleString("en");
      const size = isWhole ? "" : ` of the file's ${file.size_bytes.toLocaleString("en")}`;
      part.append(make("h3", "", `${name}: ${bytes}${size} bytes`));
      const focus = step.focus.filter((range) => range.file === name);
      const isBeside = !focus.length && step.focus.length;
      part.append(hexView(file, end, focus, isBeside ? SHOWN_BESIDE : SHOWN_BYTES));
      bytesPanel.append(part);
    });
    const first = firstByte();
    if (first) first.tabIndex = 0;
    inspect(null);
    settle();
  }

  // All has its size, and what the step is about is in sight.
  function settle() {
    fit();
    const section = evidence();
    reveal(bytesPanel, bytesPanel.querySelector(".in-focus"));
    reveal(section.querySelector(".rest"), section.querySelector("tr.marked"));
    reveal(section.querySelector(".top .scroll"), section.querySelector(".f-here") || section.querySelector(".bar path"));
  }

  // In a wide window bytes and state have the room that is left: let their text grow until it fills it,
  // or shrink a little if all of it is to be seen then.
  // A picture that would be small below its sentence stands beside it.
  function fit() {
    const picture = evidence().querySelector(".picture");
    const top = picture?.closest(".top");
    const scales = [true, false].map((isBeside) => {
      top?.classList.toggle("is-beside", isBeside);
      return picture?.getScreenCTM()?.a ?? 0;
    });
    top?.classList.toggle("is-beside", scales[0] > scales[1]);
    for (const panel of [bytesPanel, evidence().querySelector(".rest")]) {
      const fits = (zoom, isWhole) => {
        panel.style.setProperty("--zoom", zoom);
        panel.classList.toggle("grown", zoom > 1); // what has grown breaks no word
        return panel.scrollWidth <= panel.clientWidth && (!isWhole || panel.scrollHeight <= panel.clientHeight);
      };
      // What cannot be whole is read from above to below, not from side to side.
      [4, 3.5, 3, 2.5, 2, 1.75, 1.5, 1.25, 1, 0.85].some((zoom) => fits(zoom, true)) || fits(1) || fits(0.85);
    }
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
    for (let room = shownBytes / 4; start > 0; start -= 1) {
      room -= fields[start - 1].end - fields[start - 1].start;
      if (room < 0) break;
    }
    let room = shownBytes;
    let stop = start;
    while (stop < fields.length && room > 0) {
      room -= fields[stop].end - fields[stop].start;
      stop += 1;
    }
    if (start > 0) view.append(make("span", "more", `… ${fields[start].start - file.start} bytes before`));
    let holder = view;
    fields.slice(start, stop).forEach((field, index) => {
      if (index && field.kind === "offset") view.append(make("span", "line"));
      if (field.kind === "relative-offset") view.append(holder = make("span", "entry"));
      else if (field.kind !== "position") holder = view;
      holder.append(fieldBox(file, field, end, isIn(field)));
    });
    if (stop < fields.length) {
      view.append(make("span", "more", `… ${end - fields[stop].start} bytes more`));
    }
    return view;
  }

  function fieldBox(file, field, fileEnd, isInFocus) {
    const box = make("span", `field f-${field.kind}${isInFocus ? " in-focus" : ""}`);
    Object.assign(box.dataset, { file: file.name, start: field.start, end: field.end });
    const label = make("span", "label", field.name);
    label.append(make("span", "at", ` @${field.start}`));
    box.append(label);
    const end = Math.min(field.end, fileEnd, field.start + SHOWN_BYTES);
    const byteAt = (at) => file.data[at - file.start];
    for (let at = field.start; at < end; at += 1) {
      const byte = make("span", "byte", hex(byteAt(at), 2));
      byte.tabIndex = -1;
      byte.setAttribute("role", "button");
      byte.setAttribute("aria-label", `byte ${at}, ${field.name}, hex ${byte.textContent}`);
      if (typeof field.value !== "number") byte.dataset.text = character(byteAt(at)) || "·";
      byte.addEventListener("mouseenter", () => { if (!isChosen()) inspect(file, field, at, box); });
      byte.addEventListener("focus", () => inspect(file, field, at, box));
      byte.addEventListener("click", () => byte.focus());
      box.append(byte);
      let same = at + 1;
      while (same < end && byteAt(same) === byteAt(at)) same += 1;
      if (same - at >= FOLDED && !trace.what_if) {
        box.append(make("span", "more", ` ${same - at - 1} more 0x${hex(byteAt(at), 2)} `));
        at = same - 1;
      }
    }
    if (end < Math.min(field.end, fileEnd)) box.append(make("span", "more", " …"));
    return box;
  }

  // A byte that was clicked stays, so that the mouse can go from it to the inspector.
  function isChosen() {
    const holder = document.activeElement;
    return holder.classList.contains("byte") || inspector.contains(holder);
  }

  function inspect(file, field, at, box) {
    light(null);
    inspector.replaceChildren();
    if (!file) {
      inspector.append(make("p", "more", "Point at a byte, or press b. A click keeps it."));
      return;
    }
    light(box);
    const bytes = file.data.slice(field.start - file.start, field.end - file.start);
    const byte = file.data[at - file.start];
    const text = character(byte) && `, “${character(byte)}”`;
    const lines = [
      `byte ${at} (0x${hex(at, 1)}): ${hex(byte, 2)} = ${byte}, signed ${byte << 24 >> 24}${text}`,
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
    const all = new TextDecoder("utf-8").decode(bytes.slice(0, 64));
    lines.push(`as text: ${JSON.stringify(all)}${bytes.length > 64 ? " …" : ""}`);
    lines.forEach((line) => inspector.append(make("p", "", line)));
    if (trace.what_if && trace.what_if.file === file.name) inspector.append(whatIf(file, at, byte));
  }

  bytesPanel.addEventListener("mouseleave", () => { if (!isChosen()) inspect(null); });

  const ROWS = "tr[data-row], tr.marked";
  const isLookedAt = (one) => one.matches(".f-here:not([data-row]), tr.marked:not([data-row])");
  function showSame(one, other) {
    const [{ start, end, row }, { start: from, end: to, row: line }] = [one.dataset, other.dataset];
    return one === other || (row !== undefined && row === line) || (isLookedAt(one) && isLookedAt(other))
      || (start !== undefined && fileOf(one) === fileOf(other) && Number(start) < Number(to) && Number(from) < Number(end));
  }

  // Light what shows the same as an element: a bar, the fields of its bytes, its row in a table.
  function light(chosen) {
    document.querySelectorAll(".lit").forEach((old) => old.classList.remove("lit"));
    if (!chosen) return;
    const bars = [...evidence().querySelectorAll(".bar")].filter((bar) => showSame(bar, chosen));
    const lit = new Set([chosen, ...bars]);
    const others = chosen.classList.contains("field") ? ROWS : `.field, ${ROWS}`;
    for (const other of [...bytesPanel.querySelectorAll(others), ...evidence().querySelectorAll(others)]) {
      if (bars.some((bar) => showSame(bar, other))) lit.add(other);
    }
    lit.forEach((one) => one.classList.add("lit"));
  }

  for (const event of ["mouseover", "click"]) {
    document.addEventListener(event, ({ target }) => {
      const chosen = target.closest?.(`.bar, ${ROWS}`);
      if (chosen && !isChosen()) light(chosen);
      const answer = target.closest?.(".before [data-answer]")?.dataset.answer;
      if (event === "click" && answer) choose(current, answer);
    });
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
    choices.forEach((choice, index) => {
      const button = make("button", "", choice.answer);
      button.type = "button";
      button.dataset.number = index + 1;
      button.addEventListener("click", () => choose(number, choice.answer));
      buttons.append(button);
    });
    const tellMe = make("button", "tell", "Show the answer");
    tellMe.type = "button";
    tellMe.addEventListener("click", () => choose(number, null));
    buttons.append(tellMe);
    if (sections[number - 2]?.querySelector("[data-answer]")) buttons.append(make("span", "hint", "or choose in the picture"));
    const verdict = make("p", "verdict");
    verdict.setAttribute("role", "status");
    box.append(buttons, verdict);
    old.before(box);
    old.classList.add("on-paper");
  }

  // Take an answer to a question, or tell it if it is null.
  function choose(number, answer, isFollowing = false) {
    if (answer === null && !isFollowing) tell({ told: number });
    const { choices } = trace.steps[number - 1].ask;
    const right = choices.find((choice) => choice.is_right);
    const choice = choices.find((one) => one.answer === answer) || right;
    const so_far = given.get(number) || [];
    given.set(number, [...so_far, answer === null ? -1 : choices.indexOf(choice)]);
    const verdict = sections[number - 1].querySelector(".verdict");
    verdict.className = `verdict ${choice.is_right ? "is-right" : "is-wrong"}`;
    const judged = answer === null ? "It is" : choice.is_right ? "Right" : "Not";
    verdict.textContent = printable(`${judged} ${choice.answer}: ${choice.why}`);
    if (choice.is_right) {
      const places = placesIn(evidence());
      answered.add(number);
      showSections();
      showBytes();
      move(places, evidence());
      if (document.activeElement.closest(".choices")) document.getElementById("next").focus();
    } else markAnswers();
  }

  // Say of each answer that was given what it was; a dot for each question, and all at the end.
  function markAnswers() {
    for (const number of quizzes) {
      const { choices } = trace.steps[number - 1].ask;
      const buttons = sections[number - 1].querySelectorAll(".choices button:not(.tell)");
      buttons.forEach((button, index) => {
        if (choices[index].is_right && answered.has(number)) button.classList.add("is-right");
        else if (given.get(number)?.includes(index)) button.classList.add("is-wrong");
      });
    }
    const first = (number) => {
      const index = given.get(number)?.[0];
      if (index === undefined) return "open";
      if (index < 0) return "shown";
      return trace.steps[number - 1].ask.choices[index].is_right ? "right" : "not";
    };
    dots.replaceChildren(...quizzes.map((number) => {
      const dot = make("a", `dot ${first(number)}`, { open: "○", shown: "–", right: "●", not: "✗" }[first(number)]);
      if (hasAddress) dot.href = `#step/${number}`;
      dot.title = `question of step ${number}: ${{ open: "open", shown: "shown", right: "right at once", not: "not at once" }[first(number)]}`;
      return dot;
    }));
    const those = (kind) => quizzes.filter((number) => first(number) === kind);
    const listed = (kind, words) => those(kind).length ? `; ${words}: step ${those(kind).join(", ")}` : "";
    summary.textContent = !those("right").length && !those("not").length ? ""
      : `Questions: ${those("right").length} of ${quizzes.length} right at once`
        + `${listed("not", "not at once")}${listed("shown", "shown")}${listed("open", "open")}.`;
  }

  // Show a step each second and a half, until the end or a question.
  let playing = 0;
  function play() {
    clearInterval(playing);
    if (playing) { playing = 0; } else {
      playing = setInterval(() => {
        if (current === sections.length || isWaiting(current)) play();
        else show(current + 1);
      }, 1500);
    }
    document.getElementById("play").textContent = playing ? "❚❚" : "▶";
  }

  function fillScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (document.fullscreenEnabled) root.requestFullscreen();
    else tell({ screen: true }); // the page around this one may do it
  }

  function changeTheme() {
    const isDark = (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.style.colorScheme = isDark ? "light" : "dark";
    tell({ theme: root.style.colorScheme });
  }

  function fromHash(isToBeLinked) {
    const match = /^#step\/(\d+)$/.exec(location.hash);
    show(match ? Number(match[1]) : opensAt, isToBeLinked);
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
    if (target.tagName === "INPUT" && (target !== done || /^(Arrow|Page|Home|End)/.test(event.key))) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (target.tagName === "BUTTON" && event.key === " ") return;
    if (/^[1-9]$/.test(event.key) && isWaiting(current)) {
      const choice = trace.steps[current - 1].ask.choices[Number(event.key) - 1];
      if (choice) choose(current, choice.answer);
      return;
    }
    const [on, back] = [() => show(current + 1), () => show(current - 1)];
    const click = () => isWaiting(current) ? choose(current, null) : asked ? tell({ told: asked }) : on();
    const action = {
      ArrowRight: on, PageDown: click, " ": click, ArrowLeft: back, PageUp: back,
      Home: () => show(1), End: () => show(sections.length),
      a: () => { if (isWaiting(current)) choose(current, null); },
      n: () => show(quizzes.find((number) => number > current) || sections.length),
      p: play, f: fillScreen, t: changeTheme,
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
  for (const [id, act] of [["play", play], ["screen", fillScreen], ["theme", changeTheme]]) {
    document.getElementById(id).addEventListener("click", act);
  }
  document.getElementById("keys").addEventListener("click", () => help.showModal());
  done.addEventListener("input", () => show(Number(done.value), false)); // while it is dragged
  done.addEventListener("change", () => show(Number(done.value)));
  // A swipe turns the page, but not where something scrolls sideways.
  let touched = null;
  document.addEventListener("touchstart", ({ touches: [{ screenX, screenY }, another], target }) => {
    let box = target;
    while (box && !box.matches("input, dialog") && box.scrollWidth <= box.clientWidth + 1) box = box.parentElement;
    touched = another || box ? null : { screenX, screenY };
  }, { passive: true });
  document.addEventListener("touchend", ({ changedTouches: [{ screenX, screenY }] }) => {
    const [right, down] = touched ? [screenX - touched.screenX, screenY - touched.screenY] : [0, 0];
    if (Math.abs(right) > 60 && Math.abs(right) > 2 * Math.abs(down)) show(current - Math.sign(right));
    touched = null;
  });
  jump.max = sections.length;
  jump.addEventListener("change", () => { show(Math.round(jump.value) || current); jump.blur(); });
  // Where a picture is wider than its box, its title and the names of lanes stay in sight.
  for (const lane of document.querySelectorAll(".lane")) {
    const back = lane.querySelector(".axis").cloneNode();
    const [left, top] = ["x", "y"].map((name) => Number(back.getAttribute(name)));
    const box = { class: "card", x: 0, y: top - 2, width: left > 8 ? left - 3 : 0, height: 34 };
    for (const [name, value] of Object.entries(box)) back.setAttribute(name, value);
    lane.append(back, lane.querySelector(".name")); // in front of its bars
  }
  document.addEventListener("scroll", ({ target }) => {
    const picture = target.querySelector(":scope > .picture");
    if (!picture) return;
    const x = target.scrollLeft / picture.getScreenCTM().a;
    for (const held of picture.querySelectorAll(".title, .card, .name")) {
      const note = held.parentNode.querySelector(":scope > .note");
      const end = note ? note.getBBox().x : picture.viewBox.baseVal.width;
      held.style.transform = `translate(${Math.min(x, end - 16 - held.getBBox().width)}px)`;
    }
  }, true);
  // The page around this one may tell where a step-through beside it is, and if it asks; and its theme.
  addEventListener("message", ({ data, source }) => {
    if (source !== parent || source === window) return;
    if (data?.step) show(data.step, false, true);
    if (Number.isInteger(data?.asked)) asked = data.asked;
    if (data?.told === current && isWaiting(current)) choose(current, null, true);
    if (typeof data?.theme === "string") root.style.colorScheme = data.theme;
  });
  window.addEventListener("resize", fit);
  // A frame that nobody sees yet has no sizes.
  new IntersectionObserver(([{ isIntersecting }], watch) => {
    if (!isIntersecting) return;
    watch.disconnect();
    settle();
  }).observe(document.body);
  window.addEventListener("hashchange", () => fromHash(false));
  const summary = make("p", "summary");
  if (quizzes.length) sections[sections.length - 1].querySelector(".say").after(summary);
  sections.forEach((section, index) => ask(section, index + 1));
  root.classList.add("js");
  fromHash(false);
})();
