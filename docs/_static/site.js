// A long name in a table breaks after a part of it.
// A step-through inside of a page has the page's colours: light, dark, or those of the system.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const name of document.querySelectorAll("table.docutils .pre")) {
    name.innerHTML = name.innerHTML.replace(/[/_.:]+(?=\w)/g, "$&<wbr>");
  }
  for (const frame of document.querySelectorAll(".step-through iframe")) {
    const tell = () => {
      const { theme } = document.body.dataset;
      frame.contentWindow.postMessage({ theme: theme === "auto" ? "" : theme }, "*");
    };
    tell();
    frame.addEventListener("load", tell);
    new MutationObserver(tell).observe(document.body, { attributeFilter: ["data-theme"] });
  }
});
