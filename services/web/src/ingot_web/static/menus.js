// Menus are <details>, which open and close by their summary. With this a click elsewhere and Escape close them as
// well, and the arrows move in them.
"use strict";

document.addEventListener("click", event => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", event => {
  const menu = event.target.closest("details.menu[open]");
  if (!menu) return;
  if (event.key === "Escape") {
    menu.open = false;
    menu.querySelector("summary").focus();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.matches("input:not([type=checkbox], [type=radio]), select, textarea")) return;
  const places = [...menu.querySelectorAll("summary, a, button, input")].filter(place => place.checkVisibility());
  const next = (places.indexOf(event.target) + step + places.length) % places.length;
  places[next].focus();
  event.preventDefault();
});
