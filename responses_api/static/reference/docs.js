// Shows the viewer, in the colours that the reader's system has, and the server's own address in the guide.
"use strict";

for (const place of document.querySelectorAll("[data-origin]")) {
  place.textContent = window.location.origin;
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

const viewer = document.getElementById("viewer");
window.SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
