// Buttons that copy an address, a commit id or a block of code. A browser copies only on pages over TLS or of its own machine.
"use strict";

const COPY = "M5.5 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3";
const DONE = "M3 8.500l3.500 3.500 6.500-8";
const FAILED = "M4 4l8 8M12 4l-8 8";
const SHOWN = 2000; // milliseconds
const SHORT = 10; // characters of a commit id, as pages show it
const SVG = "http://www.w3.org/2000/svg";

const report = Object.assign(document.createElement("div"), { className: "hidden" });
report.setAttribute("role", "status");

function icon() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width: 16, height: 16, viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "aria-hidden": true })) svg.setAttribute(name, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", COPY);
  svg.append(path);
  return svg;
}

function copyButton(label, text) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet copy", title: label });
  button.setAttribute("aria-label", label);
  button.append(icon());
  button.addEventListener("click", async () => {
    const path = button.querySelector("path");
    report.textContent = "";
    try {
      await navigator.clipboard.writeText(text());
      path.setAttribute("d", DONE);
      report.textContent = "Copied";
    } catch {
      path.setAttribute("d", FAILED);
      report.textContent = "The browser did not copy it";
    }
    setTimeout(() => {
      path.setAttribute("d", COPY);
      report.textContent = "";
    }, SHOWN);
  });
  return button;
}

function addCopyButtons(part) {
  for (const field of part.querySelectorAll(".clone input[readonly]")) {
    const row = Object.assign(document.createElement("div"), { className: "copied" });
    const label = `Copy the address for ${field.labels[0].textContent}`;
    field.replaceWith(row);
    row.append(field, copyButton(label, () => field.value));
  }
  for (const element of part.querySelectorAll("[data-copy]")) {
    const id = element.dataset.copy;
    element.after(copyButton(`Copy the whole commit id ${id.slice(0, SHORT)}`, () => id));
  }
  for (const element of part.querySelectorAll("[data-copy-path]")) {
    element.after(copyButton("Copy the path", () => element.dataset.copyPath));
  }
  for (const link of part.querySelectorAll("[data-copies-address]")) {
    link.after(copyButton("Copy the permalink", () => link.href));
  }
  for (const code of part.querySelectorAll("pre > code:not(.language-suggestion)")) {
    const block = Object.assign(document.createElement("div"), { className: "copied block" });
    code.parentElement.replaceWith(block);
    block.append(code.parentElement, copyButton("Copy this block", () => code.textContent));
  }
}

// For the page, and for each part that comes into it.
if (navigator.clipboard) {
  document.body.append(report);
  document.addEventListener("htmx:load", event => addCopyButtons(event.detail.elt));
}
