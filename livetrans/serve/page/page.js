"use strict";

const lines = document.getElementById("lines");
const state = document.getElementById("state");
let run = null, last = "", stream = null;

/* The element of a line of this run; a new one goes before the first with a higher number. */
function elementOf(number) {
  const after = [...lines.children].filter((element) => element.dataset.run === run);
  const found = after.find((element) => Number(element.dataset.line) === number);
  if (found) return found;
  const made = document.createElement("p");
  made.dataset.run = run;
  made.dataset.line = number;
  lines.insertBefore(made, after.find((element) => Number(element.dataset.line) > number) || null);
  return made;
}

function show(event, values, text) {
  last = event.lastEventId || last;
  const element = elementOf(values.line);
  if (!text) { element.remove(); return; }
  element.textContent = text;
  element.dir = values.right_to_left ? "rtl" : "ltr";
  if (values.language) element.lang = values.language;
  element.className = values.final === false ? "unfinished" : "";
  element.scrollIntoView({ block: "end" });
}

function connect() {
  const query = new URLSearchParams(location.search);
  if (last) query.set("after", last);
  stream = new EventSource("captions?" + query);
  stream.addEventListener("state", (event) => {
    const values = JSON.parse(event.data);
    run = values.run;
    state.textContent = values.state;
  });
  stream.addEventListener("caption", (event) => {
    const values = JSON.parse(event.data);
    show(event, values, values.text);
  });
  stream.addEventListener("gap", (event) => {
    const values = JSON.parse(event.data);
    show(event, values, `[${Math.round(values.end - values.start)} s without sound]`);
  });
  stream.onerror = () => {
    state.textContent = "connection lost; trying again …";
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}

connect();
