// Menus of choices: a field that filters them, keys that move in them, and the words of what is chosen. The menu of
// branches asks for those that match while one types.
"use strict";

const FILTERED = 7; // choices, from which on a filter helps

function addFilter(choices) {
  const labels = [...choices.querySelectorAll("label.check")];
  if (labels.length < FILTERED || choices.querySelector("[type=search]")) return;
  const filter = Object.assign(document.createElement("input"), { type: "search", placeholder: choices.dataset.filter });
  filter.setAttribute("aria-label", choices.dataset.filter);
  filter.addEventListener("input", () => {
    const words = filter.value.trim().toLowerCase();
    for (const label of labels) label.hidden = !label.textContent.toLowerCase().includes(words);
  });
  filter.addEventListener("keydown", event => {
    const first = labels.find(label => !label.hidden)?.querySelector("input");
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault(); // Enter would send the form
    if (event.key === "Enter") first?.click();
    else first?.focus();
  });
  choices.prepend(filter);
}

function nameOf(input) {
  const name = input.closest("label").querySelector("span").cloneNode(true);
  for (const more of name.querySelectorAll(".hint, .muted")) more.remove();
  return name.textContent.trim();
}

function showChosen(menu) {
  const words = menu.querySelector("summary .chosen");
  if (!words) return;
  const chosen = [...menu.querySelectorAll(".check input:checked")].filter(input => input.value);
  words.textContent = chosen.map(nameOf).join(", ");
}

function prepare(root) {
  for (const choices of root.querySelectorAll(".choosing")) addFilter(choices);
  for (const menu of root.querySelectorAll("details.picker")) showChosen(menu);
  const menu = root.closest?.("details.picker[open]");
  menu?.querySelector("[type=search], .check input, input[type=date]")?.focus();
}

document.addEventListener("change", event => {
  const menu = event.target.closest("details.picker");
  if (menu) showChosen(menu);
});

document.addEventListener("toggle", event => {
  const menu = event.target;
  if (!menu.open || !menu.matches?.("details.picker, details.refs")) return;
  const filter = menu.querySelector("[type=search]");
  if (filter) filter.hidden = false;
  (filter ?? menu.querySelector(".check input"))?.focus();
}, true);

document.addEventListener("click", event => {
  const link = event.target.closest("details.refs [data-refs]");
  if (!link) return;
  event.preventDefault();
  const menu = link.closest("details.refs");
  const filter = menu.querySelector("[type=search]");
  filter.setAttribute("hx-get", link.dataset.refs);
  const words = filter.value ? `&q=${encodeURIComponent(filter.value)}` : "";
  htmx.ajax("GET", link.dataset.refs + words, { target: menu.querySelector(".found") });
  htmx.process(filter);
});

document.addEventListener("htmx:load", event => prepare(event.detail.elt));
prepare(document);
