// Keeps the step-throughs in the two frames at the same step; what one tells, the other hears.
"use strict";
(() => {
  const root = document.documentElement;
  const known = new Set();
  let current = Number(/^#step\/(\d+)$/.exec(location.hash)?.[1] || document.currentScript.dataset.first);
  addEventListener("message", ({ data, source }) => {
    const tell = (sides, what) => { for (const side of sides) if (side !== source) side.postMessage(what, "*"); };
    if (data?.screen) {
      if (document.fullscreenElement) document.exitFullscreen();
      else root.requestFullscreen();
    }
    if (typeof data?.theme === "string") root.style.colorScheme = data.theme;
    if (!Number.isInteger(data?.step)) { tell(known, data); return; }
    if (!known.has(source)) { // it has just been loaded, and hears where all are
      known.add(source);
      for (const side of known) side.postMessage({ step: current }, "*");
      return;
    }
    current = data.step;
    history.replaceState(null, "", `#step/${current}`);
    tell(known, { step: current });
  });
  addEventListener("load", () => frames[0].focus()); // keys go to a side, which tells its step
  addEventListener("click", () => frames[0].focus());
})();
