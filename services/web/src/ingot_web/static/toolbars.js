// A toolbar above each field for Markdown, the keys Ctrl-B, Ctrl-I and Ctrl-K in it (⌘ on a Mac), and lists that continue with Enter.
"use strict";

const BLOCK = /^(\s*)([-*+] \[[ xX]\] |[-*+] |(\d+)([.)]) |> )/; // the start of an item or of a quote

const IS_APPLE = /Mac|iP/.test(navigator.platform); // there Ctrl-B and Ctrl-K move the cursor and cut

// Each tool puts text around the selection (`around`), before each of its lines (`before`), or at the cursor (`at`).
const TOOLS = [
  { label: "Heading", sign: "H", before: () => "### " },
  { label: "Bold", sign: "B", key: "b", around: ["**", "**"], empty: "bold" },
  { label: "Italic", sign: "I", key: "i", around: ["_", "_"], empty: "italic" },
  { label: "Quote", sign: "❞", before: () => "> " },
  { label: "Code", sign: "‹›", around: ["`", "`"], empty: "code" },
  { label: "Link", sign: "Link", key: "k", around: ["[", "](url)"], empty: "text", select: "url" },
  { label: "Bulleted list", sign: "•", before: () => "- " },
  { label: "Numbered list", sign: "1.", before: number => `${number}. ` },
  { label: "Task list", sign: "☑", before: () => "- [ ] " },
  { label: "Mention", sign: "@", at: "@" },
  { label: "Reference", sign: "#", at: "#" },
];

// Replaces a part of the text. It can be undone where the browser still has the command for that.
function replace(field, start, end, text) {
  field.focus();
  field.setSelectionRange(start, end);
  const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
  if (done) return;
  field.setRangeText(text, start, end, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

function surround(field, { label, around: [left, right], empty, select }) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const words = value.slice(start, end);
  if (words && value.slice(start - left.length, start) === left && value.slice(end, end + right.length) === right) {
    replace(field, start - left.length, end + right.length, words);
    field.setSelectionRange(start - left.length, end - left.length);
    return;
  }
  const isBlock = label === "Code" && words.includes("\n");
  const [before, after] = isBlock ? ["```\n", "\n```"] : [left, right];
  replace(field, start, end, before + (words || empty) + after);
  const inner = start + before.length;
  const address = select ? inner + (words || empty).length + after.indexOf(select) : inner;
  const length = select && words ? select.length : (words || empty).length;
  field.setSelectionRange(select && words ? address : inner, (select && words ? address : inner) + length);
}

function mark(field, { before }) {
  const { value } = field;
  const start = value.lastIndexOf("\n", field.selectionStart - 1) + 1;
  const next = value.indexOf("\n", field.selectionEnd);
  const end = next < 0 ? value.length : next;
  const lines = value.slice(start, end).split("\n");
  const marks = lines.map((_, place) => before(place + 1));
  const isMarked = lines.every((line, place) => line.startsWith(marks[place]));
  const text = lines.map((line, place) => isMarked ? line.slice(marks[place].length) : marks[place] + line).join("\n");
  replace(field, start, end, text);
  field.setSelectionRange(lines.length > 1 ? start : start + text.length, start + text.length);
}

function insert(field, text) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const isApart = !start || /\s/.test(value[start - 1]);
  replace(field, start, end, (isApart ? "" : " ") + text);
}

function use(tool, field) {
  if (tool.around) surround(field, tool);
  else if (tool.before) mark(field, tool);
  else insert(field, tool.at);
}

// An open fence of code: in it no line begins a list.
function isCode(text) {
  return (text.match(/^ {0,3}(```|~~~)/gm) ?? []).length % 2 === 1;
}

// Enter in an item begins the next one; in an empty item it ends the list.
function continueBlock(field, event) {
  const { selectionStart: start, selectionEnd: end, value } = field;
  const from = value.lastIndexOf("\n", start - 1) + 1;
  const line = value.slice(from, start);
  const match = BLOCK.exec(line);
  if (start !== end || !match || isCode(value.slice(0, from))) return;
  const isEmpty = line === match[0] && ["", "\n"].includes(value.slice(end, end + 1));
  if (line === match[0] && !isEmpty) return; // the cursor is before the words of the item
  event.preventDefault();
  if (isEmpty) replace(field, from, start, "");
  else {
    const [, indent, sign, number, dot] = match;
    const next = number ? `${Number(number) + 1}${dot} ` : sign.replace(/\[[xX]\]/, "[ ]");
    replace(field, start, end, `\n${indent}${next}`);
  }
}

function toolbar(field) {
  const bar = Object.assign(document.createElement("div"), { className: "toolbar" });
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "Markdown");
  bar.setAttribute("aria-controls", field.id);
  for (const tool of TOOLS) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: tool.sign });
    button.title = tool.key ? `${tool.label} (${IS_APPLE ? "⌘" : "Ctrl-"}${tool.key.toUpperCase()})` : tool.label;
    button.setAttribute("aria-label", tool.label);
    if (tool.key) button.setAttribute("aria-keyshortcuts", `${IS_APPLE ? "Meta" : "Control"}+${tool.key.toUpperCase()}`);
    button.tabIndex = bar.firstChild ? -1 : 0;
    button.addEventListener("click", () => use(tool, field));
    bar.append(button);
  }
  bar.addEventListener("keydown", event => move(bar, event));
  return bar;
}

// Arrow keys move between the buttons, and Tab leaves them at once (ARIA Authoring Practices, toolbar).
function move(bar, event) {
  const buttons = [...bar.children];
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -buttons.length, End: buttons.length };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const place = Math.max(0, Math.min(buttons.length - 1, buttons.indexOf(event.target) + steps[event.key]));
  for (const button of buttons) button.tabIndex = -1;
  buttons[place].tabIndex = 0;
  buttons[place].focus();
}

function takesMarkdown(field) {
  return !field.readOnly && !field.disabled && !field.classList.contains("mono") && field.form?.querySelector("button[name=preview]");
}

document.addEventListener("keydown", event => {
  const field = event.target;
  // 229: Safari sends the Enter that ends a composition so (UI Events, section 5.3).
  if (event.isComposing || event.keyCode === 229 || !field.matches?.("textarea") || !takesMarkdown(field)) return;
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey) continueBlock(field, event);
  const isCommand = IS_APPLE ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
  if (!isCommand || event.shiftKey || event.altKey) return;
  const tool = TOOLS.find(one => one.key === event.key.toLowerCase());
  if (!tool) return;
  event.preventDefault();
  event.stopPropagation();
  use(tool, field);
}, true);

document.addEventListener("htmx:load", event => {
  for (const field of event.detail.elt.querySelectorAll("textarea")) {
    if (takesMarkdown(field) && !field.previousElementSibling?.matches(".toolbar")) field.before(toolbar(field));
  }
});
