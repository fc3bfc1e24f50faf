// Files that are dropped on a form, or pasted into its text, are those of its field for files.
"use strict";

function fieldFor(target) {
  const element = target instanceof Element ? target : target?.parentElement;
  return element?.closest("form")?.querySelector('input[type="file"][multiple]');
}

function add(field, files) {
  const all = new DataTransfer();
  for (const file of [...field.files, ...files]) all.items.add(file);
  field.files = all.files;
}

document.addEventListener("dragover", event => {
  if (fieldFor(event.target) && event.dataTransfer.types.includes("Files")) event.preventDefault();
});

document.addEventListener("drop", event => {
  const field = fieldFor(event.target);
  if (!field || !event.dataTransfer.files.length || event.target === field) return;
  event.preventDefault();
  add(field, event.dataTransfer.files);
  field.focus();
});

document.addEventListener("paste", event => {
  const field = fieldFor(event.target);
  const { files, types } = event.clipboardData;
  if (!field || !files.length || types.includes("text/plain")) return; // a copied table is text and a picture
  event.preventDefault();
  add(field, files);
});

// For the page, and for each part that comes into it. Without this file nothing takes what is dropped.
document.addEventListener("htmx:load", event => {
  for (const words of event.detail.elt.querySelectorAll("[data-drops]")) words.textContent = "Drop, paste or choose files.";
});
