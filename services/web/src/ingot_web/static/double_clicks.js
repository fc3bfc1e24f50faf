// A form is sent once: a second click before the answer is there sends nothing. Forms that htmx sends it stops itself.
"use strict";

const MILLISECONDS = 3000; // then the answer is late, and the person may want to send it again

document.addEventListener("submit", event => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if ("sent" in form.dataset) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "";
  setTimeout(() => delete form.dataset.sent, MILLISECONDS);
});
