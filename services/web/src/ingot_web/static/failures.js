// Says below a form that no page answered it: nothing was reached, or what stands before the pages had another answer.
"use strict";

const WORDS = "The site does not answer. Load this page again to see whether this was sent.";

function say(place) {
  if (!place.matches(".outcome")) return; // what looks again by itself needs no words
  const notice = document.createElement("div");
  notice.className = "notice bad";
  notice.setAttribute("role", "alert");
  notice.append(Object.assign(document.createElement("p"), { textContent: WORDS }));
  place.replaceChildren(notice);
}

document.addEventListener("htmx:sendError", event => say(event.detail.target));

document.addEventListener("htmx:beforeSwap", event => {
  const type = event.detail.xhr.getResponseHeader("Content-Type") || "";
  if (type.startsWith("text/html")) return;
  event.detail.shouldSwap = false;
  say(event.detail.target);
});
