// The palette: Ctrl-K or / opens the search of the site in a dialog, arrows move in its results, and Escape closes it.
// Other keys press the links that name them in aria-keyshortcuts, such as t.
"use strict";

const TYPING = "input, textarea, select, [contenteditable]";
const SEARCH_DELAY = 250; // milliseconds

/** @returns {HTMLDialogElement | null} */
function openPalette() {
  const form = document.querySelector("form.search");
  if (!form) return null;
  const dialog = Object.assign(document.createElement("dialog"), { className: "palette" });
  dialog.setAttribute("aria-label", "Search");
  const field = Object.assign(document.createElement("input"), { type: "search", name: "q", placeholder: "Repositories, people, issues, files, commands", maxLength: 200, autocomplete: "off" });
  field.setAttribute("aria-label", "Search");
  const results = document.createElement("div");
  dialog.append(field, results);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  /** @type {number | undefined} */
  let timer;
  const load = () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([name]) => name !== "q"));
    query.set("q", field.value);
    htmx.ajax("GET", `${form.getAttribute("action")}?${query}`, { target: results, source: results });
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, SEARCH_DELAY);
  });
  dialog.showModal();
  field.focus();
  load();
  return dialog;
}

document.addEventListener("keydown", event => {
  const dialog = document.querySelector("dialog.palette");
  if (dialog) {
    const places = [...dialog.querySelectorAll("input, a")];
    const at = places.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) places[(at + step + places.length) % places.length].focus();
    else if (event.key === "Enter" && at === 0) places[1]?.click();
    else if (event.key === "Escape") dialog.close(); // in a search field, browsers only empty the field
    else return;
    event.preventDefault();
    return;
  }
  const opens = event.key === "k" && (event.ctrlKey || event.metaKey);
  if (!opens && (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(`${TYPING}, dialog`))) return;
  if (opens || event.key === "/") {
    if (openPalette()) event.preventDefault();
    return;
  }
  const link = /^[a-z]$/.test(event.key) && document.querySelector(`a[aria-keyshortcuts="${event.key}"]`);
  if (link) {
    event.preventDefault();
    link.click();
  }
});
