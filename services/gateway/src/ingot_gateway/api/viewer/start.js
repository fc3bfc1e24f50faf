// Shows the description beside this page, light or dark as the system is. Requests go to where the page comes from, whatever name the server has.
"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
const description = new URL("../openapi.json", document.currentScript.src);
fetch(description)
  .then((answer) => answer.json())
  .then((spec) =>
    SwaggerUIBundle({
      spec: { ...spec, servers: [{ url: new URL("../..", description).href.replace(/\/$/, "") }] },
      dom_id: "#operations",
      deepLinking: true,
      docExpansion: "none",
      filter: true,
      tryItOutEnabled: true,
      validatorUrl: null,
      presets: [SwaggerUIBundle.presets.apis],
      layout: "BaseLayout",
    }),
  );
