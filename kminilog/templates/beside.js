// Keeps the step-throughs in the two frames at the same step, and shows answers on both sides.
"use strict";
(() => {
  const known = new Set();
  let current = Number(/^#step\/(\d+)$/.exec(location.hash)?.[1] || document.currentScript.dataset.first);
  addEventListener("message", ({ data, source }) => {
    for (const side of known) if (data?.told && side !== source) side.postMessage({ told: data.told }, "*");
    if (!Number.isInteger(data?.step)) return;
    if (!known.has(source)) { // it has just been loaded
      known.add(source);
      source.postMessage({ step: current }, "*");
      return;
    }
    current = data.step;
    history.replaceState(null, "", `#step/${current}`);
    for (const side of known) if (side !== source) side.postMessage({ step: current }, "*");
  });
  addEventListener("load", () => frames[0].focus()); // keys go to a side, which tells its step
  addEventListener("click", () => frames[0].focus());
})();
