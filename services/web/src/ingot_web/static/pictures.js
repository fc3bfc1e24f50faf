// Two states of a picture: side by side as without this script, one wiped over the other, or one shining through it.
"use strict";

const LOOKS = [["", "Side by side"], ["swipe", "Swipe"], ["onion", "Onion skin"]];

function addLooks(pictures) {
  const range = document.createElement("input");
  range.type = "range";
  range.value = 50;
  range.hidden = true;
  range.setAttribute("aria-label", "How much of the picture after the change is shown");
  range.addEventListener("input", () => pictures.style.setProperty("--shown", `${range.value}%`));
  const tools = document.createElement("div");
  tools.className = "actions";
  for (const [look, text] of LOOKS) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-pressed", String(!look));
    button.addEventListener("click", () => {
      pictures.classList.remove("swipe", "onion");
      if (look) pictures.classList.add(look);
      range.hidden = !look;
      for (const other of tools.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    });
    tools.append(button);
  }
  tools.append(range);
  pictures.before(tools);
}

// For the page, and for each part that comes into it.
document.addEventListener("htmx:load", event => {
  for (const pictures of event.detail.elt.querySelectorAll(".pictures")) {
    if (pictures.querySelectorAll("img").length === 2) addLooks(pictures);
  }
});
