// Lists: j and k move in rows, x selects the row, o opens it, e marks it as read. A bar counts the selected rows and selects all. Shift
// selects a range.
"use strict";

const LIST = "ul[data-keys]";
const BOX = ".row > input[type=checkbox]";

/** @returns {HTMLElement[]} */
const rows = () => [...document.querySelectorAll(`${LIST} > .row`)];

/** @param {number} step */
function goToRow(step) {
  const all = rows();
  const current = all.findIndex(row => row.contains(document.activeElement));
  const next = current < 0 ? (step > 0 ? 0 : all.length - 1) : current + step;
  all[next]?.querySelector("a.title")?.focus();
}

/** @type {Record<string, (row: HTMLElement | undefined) => void>} */
const LIST_KEYS = {
  j: () => goToRow(1),
  k: () => goToRow(-1),
  x: row => row?.querySelector("input[type=checkbox]")?.click(),
  o: row => row?.querySelector("a.title")?.click(),
  e: row => row?.querySelector("button[name=only]")?.click(),
};

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || !document.querySelector(LIST)) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog, details.menu")) return;
  const act = LIST_KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(rows().find(row => row.contains(document.activeElement)));
});

/** @param {HTMLFormElement} form */
function addBar(form) {
  const bar = form.querySelector(".selection");
  const boxes = [...form.querySelectorAll(`${LIST} > ${BOX}`)];
  if (!bar || !boxes.length || bar.querySelector("output")) return;
  const all = Object.assign(document.createElement("input"), { type: "checkbox" });
  const label = Object.assign(document.createElement("label"), { className: "check" });
  label.append(all, Object.assign(document.createElement("span"), { textContent: "Select all" }));
  const count = document.createElement("output");
  bar.prepend(label, count);
  const button = bar.querySelector("button");
  /** @type {Element | null} */
  let last = null;
  const show = () => {
    const chosen = boxes.filter(box => box.checked).length;
    count.textContent = chosen ? `${chosen} selected` : "";
    all.checked = chosen === boxes.length;
    all.indeterminate = chosen > 0 && !all.checked;
    bar.classList.toggle("active", chosen > 0);
    button.disabled = !chosen;
    const shown = document.querySelector(form.getAttribute("hx-target") ?? "#none");
    shown?.replaceChildren(); // it is for the former selection
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  form.addEventListener("click", event => {
    if (!event.target.matches(BOX)) return;
    if (event.shiftKey && last) {
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)].sort((a, b) => a - b);
      for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
    }
    last = event.target;
    show();
  });
  show();
}

document.addEventListener("htmx:load", event => {
  for (const form of event.detail.elt.querySelectorAll("form.selecting")) addBar(form);
  const heading = event.detail.elt.querySelector?.("#edit-many");
  if (heading && !event.detail.elt.matches("body")) heading.focus();
});
