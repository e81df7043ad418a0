// Plays the list of events one after the other. Without it the list is all there.
"use strict";
(() => {
  const player = document.getElementById("player");
  const events = [...document.querySelectorAll("#events li[data-delta]")];
  if (!player || events.length === 0) return;
  const part = (name) => player.querySelector(name);
  const play = part('[data-do="play"]'), speed = part('[data-do="speed"]');
  const place = part('[data-show="place"]'), text = part('[data-show="text"]');
  let at = events.length, timer = null;

  function show() {
    events.forEach((event, index) => {
      event.classList.toggle("ahead", index >= at);
      event.classList.toggle("now", index === at - 1);
    });
    place.textContent = `${at} of ${events.length}`;
    text.textContent = events.slice(0, at).map((event) => event.dataset.delta).join("");
    text.scrollTop = text.scrollHeight;
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  function step() {
    if (at >= events.length) return pause();
    at += 1;
    show();
  }
  function start() {
    if (at >= events.length) at = 0;
    timer = setInterval(step, 1000 / Number(speed.value));
    play.textContent = "Pause";
  }
  play.addEventListener("click", () => (timer ? pause() : start()));
  part('[data-do="step"]').addEventListener("click", () => { pause(); if (at >= events.length) at = 0; step(); });
  part('[data-do="reset"]').addEventListener("click", () => { pause(); at = 0; show(); });
  speed.addEventListener("change", () => { if (timer) { pause(); start(); } });
  player.hidden = false;
  place.textContent = `${events.length} events on this page`;
})();
