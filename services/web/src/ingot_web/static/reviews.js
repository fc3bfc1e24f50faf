// Changes of a pull request: the list of files has a filter, files are marked as viewed in place, and keys lead from
// file to file, from change to change, and to a comment.
"use strict";

const KEYS = {
  j: ["Next file", () => goToFile(1)],
  k: ["Previous file", () => goToFile(-1)],
  n: ["Next change", () => goToChange(1)],
  p: ["Previous change", () => goToChange(-1)],
  c: ["Comment on the line", comment],
  v: ["Mark the file as viewed", () => currentFile()?.closest(".markable")?.querySelector(".viewed button").click()],
  "?": ["Show the keys", showKeys],
};
const HEAD = 70; // pixels below the line that stays

const changes = () => document.querySelector(".changes");
const tops = elements => elements.map(element => element.getBoundingClientRect().top);

function files() {
  return [...changes().querySelectorAll("details.file")];
}

function currentFile() {
  const all = files();
  const focused = document.activeElement?.closest("details.file");
  return focused ?? all[tops(all).findLastIndex(top => top <= HEAD + 10)] ?? all[0];
}

function goToFile(step) {
  const all = files();
  const places = tops(all);
  const next = step > 0 ? places.findIndex(top => top > HEAD + 10) : places.findLastIndex(top => top < HEAD - 10);
  const file = all[next];
  if (!file) return;
  file.closest(".file-part").scrollIntoView();
  file.querySelector("summary").focus({ preventScroll: true });
  for (const link of document.querySelectorAll(".tree a")) {
    if (link.hash === `#${file.id}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function isChange(row) {
  return !!row?.matches("tr.add, tr.del, tr:has(> td.add, > td.del)");
}

// The first lines of runs of changed lines.
function runs() {
  return [...changes().querySelectorAll("details.file[open] tr")].filter(row => isChange(row) && !isChange(row.previousElementSibling));
}

function goToChange(step) {
  const all = runs();
  const marked = all.findIndex(row => row.classList.contains("marked"));
  const seen = tops(all).findIndex(top => top > HEAD);
  const next = marked >= 0 ? marked + step : step > 0 ? seen : seen - 1;
  const row = all[next];
  if (!row) return;
  for (const one of changes().querySelectorAll("tr.marked")) one.classList.remove("marked");
  row.classList.add("marked");
  row.tabIndex = -1;
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

function comment() {
  const place = changes().querySelector("tr.marked") ?? currentFile();
  place?.querySelector('.number a[href*="at="]')?.click();
}

function showKeys() {
  let dialog = document.querySelector("dialog.keys");
  if (!dialog) {
    dialog = Object.assign(document.createElement("dialog"), { className: "keys" });
    const title = Object.assign(document.createElement("h2"), { textContent: "Keys" });
    const list = document.createElement("dl");
    for (const [key, [words]] of Object.entries(KEYS)) {
      const name = document.createElement("dt");
      name.append(Object.assign(document.createElement("kbd"), { textContent: key }));
      list.append(name, Object.assign(document.createElement("dd"), { textContent: words }));
    }
    const form = Object.assign(document.createElement("form"), { method: "dialog" });
    form.append(Object.assign(document.createElement("button"), { textContent: "Close" }));
    dialog.append(title, list, form);
    document.body.append(dialog);
  }
  dialog.showModal();
}

document.addEventListener("keydown", event => {
  if (!changes() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const [, act] = KEYS[event.key] ?? [];
  if (!act) return;
  event.preventDefault();
  act();
});

// A form is refused when it comes a second time, so each press has a number.
let presses = 0;
document.addEventListener("htmx:configRequest", event => {
  if (event.target.matches("form.viewed")) event.detail.parameters.press = ++presses;
});

document.addEventListener("htmx:afterRequest", event => {
  const form = event.target;
  if (!form.matches?.("form.viewed") || !event.detail.successful) return;
  const button = form.querySelector("button");
  const isViewed = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isViewed));
  if (isViewed) Object.assign(button, { name: "forget", value: "1" });
  else button.removeAttribute("name");
  const file = form.parentElement.querySelector("details.file");
  file.open = !isViewed;
  file.querySelector("summary .badge.good")?.remove();
  for (const link of document.querySelectorAll(".tree a")) {
    if (link.hash === `#${file.id}`) link.className = isViewed ? "viewed" : "";
  }
});

const tree = document.querySelector(".tree");
if (tree) {
  const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: "Filter files" });
  filter.setAttribute("aria-label", "Filter files");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase();
    for (const link of tree.querySelectorAll("a")) link.parentElement.hidden = !link.title.toLowerCase().includes(words);
    for (const folder of tree.querySelectorAll("li.muted")) folder.hidden = !!words;
  });
  tree.prepend(filter);
}
