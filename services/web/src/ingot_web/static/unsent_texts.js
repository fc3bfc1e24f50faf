// Asks before a page is left on which somebody wrote a text that was not sent.
"use strict";

let sent = null; // the form whose text goes along

const leavesWith = form => { sent = form; };

document.addEventListener("input", () => leavesWith(null));
document.addEventListener("submit", event => { if (!event.defaultPrevented) leavesWith(event.target); });
document.addEventListener("htmx:beforeOnLoad", ({ detail }) => {
  if (detail.xhr.getResponseHeader("HX-Redirect")) leavesWith(detail.elt.closest("form"));
});

// A text that comes into the page in place of one that was written, as with a suggestion, is as little sent as that.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const text = detail.elt;
  if (!text.matches("textarea")) return;
  const { value } = text;
  text.defaultValue = "";
  text.value = value;
});

addEventListener("beforeunload", event => {
  const texts = [...document.querySelectorAll("textarea")];
  if (texts.some(text => text.form !== sent && text.value !== text.defaultValue)) event.preventDefault();
});
