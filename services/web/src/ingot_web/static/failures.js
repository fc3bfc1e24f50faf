// Says below a form that no page answered it: nothing was reached, or what stands before the pages had another answer. Says
// in a row of a diff why the lines did not come, and leaves the links there.
"use strict";

const NOT_SENT = "The site does not answer. Load this page again to see whether this was sent.";
const NOT_READ = "The site does not answer. Try it again in a moment.";

function say(place, words) {
  const isRow = place.matches("tr");
  if (!isRow && !place.matches(".outcome")) return; // what looks again by itself needs no words
  const notice = document.createElement("div");
  notice.className = "notice bad";
  notice.setAttribute("role", "alert");
  notice.append(Object.assign(document.createElement("p"), { textContent: words || (isRow ? NOT_READ : NOT_SENT) }));
  const part = isRow ? place.lastElementChild : place;
  part.querySelector(".notice")?.remove();
  isRow ? part.append(notice) : part.replaceChildren(notice);
}

document.addEventListener("htmx:sendError", event => say(event.detail.target));

document.addEventListener("htmx:beforeSwap", event => {
  const { xhr, target } = event.detail;
  const isPage = (xhr.getResponseHeader("Content-Type") || "").startsWith("text/html");
  const isRefusal = xhr.status >= 400 && target.matches("tr"); // no row
  if (isPage && !isRefusal) return;
  event.detail.shouldSwap = false;
  const page = isPage && new DOMParser().parseFromString(xhr.responseText, "text/html");
  say(target, page && page.querySelector(".notice")?.textContent);
});
