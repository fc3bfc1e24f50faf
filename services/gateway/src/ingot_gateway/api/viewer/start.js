// Shows the description beside this page. Requests go to where the page comes from, whatever name the server has.
"use strict";
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
