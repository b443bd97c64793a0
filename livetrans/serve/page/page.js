import { Options } from "./options.js";
import { Lines } from "./lines.js";
import { Aloud } from "./aloud.js";

const SILENCE = 40_000;
/* Milliseconds without anything from the server, which sends at least its state, until the connection counts as lost. */
const NOTE = 15_000;
const AWAKE = 4_000;
/* Milliseconds that the bar of a stage is shown after the pointer has moved. */
const STATES = {
  loading: "loading the models …",
  listening: "listening",
  paused: "paused",
  ended: "ended",
};
const KEYS = "v view · + − size · [ ] lines · s source · c colours · t language · a aloud · w window on top · End newest";

const byId = (id) => document.getElementById(id);
const options = new Options(location.search);
const view = byId("view");
const lines = new Lines(view, byId("lines"), byId("announcer"));
const aloud = new Aloud();
let stream = null, last = "", heardAt = 0, isLost = false;
let again = null; /* The note that the connection is back. */
let isNewReader = true, old = 0; /* The number of the last change before a new reader came. */
let refused = ""; /* Why the server does not answer as it should, in its words. */
let languages = []; /* Those that the stream is filtered by. */
let shown = []; /* Those that the page shows: it keeps them when the terminal shows another one. */
let state = { run: "", state: "", sources: [], targets: [], tracks: [] };
let onTop = null, wakeLock = null; /* A promise, so that a second request does not begin while one is decided. */

/* The stream. */

function connect() {
  if (stream) stream.close();
  const query = new URLSearchParams();
  if (languages.length) query.set("to", languages);
  for (const name of ["final", "last"]) if (options.given[name]) query.set(name, options.given[name]);
  if (last) query.set("after", last);
  heardAt = performance.now();
  isNewReader = !last;
  stream = new EventSource(`captions?${query}`);
  stream.onerror = () => {
    lose();
    if (stream.readyState === EventSource.CLOSED) explain();
  };
  for (const [name, take] of Object.entries({ state: takeState, caption: takeCaption, gap: takeGap })) {
    stream.addEventListener(name, (event) => {
      heardAt = performance.now();
      last = event.lastEventId || last;
      take(JSON.parse(event.data));
    });
  }
}

function lose() {
  isLost = true;
  again?.remove();
  showState();
}

/* An EventSource does not tell why it was refused: the same request does. An old address stays old. */
async function explain() {
  const ending = new AbortController();
  const answer = await fetch(stream.url, { signal: ending.signal }).catch(() => null);
  refused = answer && !answer.ok ? (await answer.text()).trim() : "";
  ending.abort();
  if (refused && options.view === "overlay") note(refused);
  showState();
  setTimeout(connect, refused ? 30_000 : 2000);
}

function takeState(values) {
  if (isLost) again = note("Connected again.", { inOverlay: false });
  isLost = false;
  refused = "";
  if (isNewReader || state.run !== values.run) old = isNewReader ? values.changes : 0;
  isNewReader = false;
  const isSame = state.run === values.run && values.targets.length === state.targets.length;
  state = values;
  lines.leave(state.run);
  showState();
  if (!isSame) choose(shown.length ? shown : options.languages, false);
}

/* Show these of the run's languages, or its first. Another choice is another stream. */
function choose(wanted, isNew) {
  const targets = state.targets;
  if (!targets.length) return;
  const known = targets.filter((code) => wanted.includes(code.toLowerCase()));
  if (known.length < wanted.length) note(`to is one of ${targets.join(", ")} in this run.`);
  const isOwn = (code) => code.split("-")[0] === navigator.language.split("-")[0];
  const own = options.view === "reader" ? targets.filter(isOwn) : [];
  const chosen = known.length ? known : [...own, ...targets].slice(0, 1);
  shown = chosen.map((code) => code.toLowerCase());
  showState();
  showChoice(targets, chosen);
  /* A run in one language has nothing to filter. */
  const filter = targets.length > 1 ? chosen : [];
  if (filter.join() === languages.join()) return;
  languages = filter;
  if (isNew) options.set("to", chosen);
  last = "";
  lines.clear();
  connect();
}

function showChoice(targets, chosen) {
  const choices = targets.length > 1 ? [...targets.map((code) => [code]), targets] : [];
  byId("languages").hidden = !choices.length;
  byId("to").replaceChildren(...choices.map((codes) => {
    const name = codes.length > 1 ? "all" : new Intl.DisplayNames(codes, { type: "language" }).of(codes[0]);
    return new Option(name, codes.join(), false, codes.join() === chosen.join());
  }));
}

function takeCaption(values) {
  const label = [values.track, languages.length > 1 && values.language].filter(Boolean).join(" · ");
  show(values, {
    text: values.text,
    final: values.final,
    language: (values.untranslated ? values.spoken : values.language) || "",
    rightToLeft: values.right_to_left,
    untranslated: values.untranslated && !(values.spoken && values.spoken === values.language),
    isToRead: !values.untranslated && values.language?.toLowerCase() === aloud.language,
    isSecond: isSecond(values.track),
    label,
    source: values.untranslated ? "" : values.source,
    committed: values.committed_source.length,
    repaired: values.repaired,
    spoken: values.spoken || (state.sources[0] === "auto" ? "" : state.sources[0] || ""),
  });
}

function takeGap(values) {
  const length = `${Math.round(values.end - values.start)} s`;
  const text = values.reason === "paused" ? `[paused for ${length}]` : `[${length} without sound]`;
  const parts = { text, final: true, language: "en", rightToLeft: false, untranslated: false };
  show(values, { ...parts, isSecond: isSecond(values.track), label: values.track || "", source: "", committed: 0, repaired: [], spoken: "" });
}

/* The run says on which side a track stands: what a page happened to receive first does not. */
function isSecond(track) {
  return state.tracks.indexOf(track) === 1;
}

function show(values, parts) {
  const isNews = lines.show(state.run, values, parts) && last.split("-")[1] > old;
  const isRead = isNews && parts.isToRead && aloud.take(`${state.run} ${values.line}`, parts.text);
  if (isNews && !isRead) lines.announce(parts);
  showWaiting();
}

/* A network that was cut gives no error: the server's silence says it. */
function watch(longest = SILENCE) {
  if (performance.now() - heardAt < longest) return;
  lose();
  connect();
}

/* What is shown around the captions. */

function showState() {
  const lost = isLost && state.state !== "ended" ? "connection lost; trying again …" : "";
  const isHidden = document.visibilityState === "hidden" && !onTop;
  aloud.adjust((options.isAloud && shown[0]) || "", isHidden || state.state === "paused");
  const fault = options.isAloud ? aloud.fault : "";
  const voice = options.isAloud ? ` · ${fault || "reading aloud, × left out"}` : "";
  byId("state").textContent = (refused || lost || STATES[state.state] || "connecting …") + voice;
  byId("bar").classList.toggle("calm", !isLost && !fault && state.state === "listening");
  showWaiting();
  keepAwake();
}

function showWaiting() {
  const isWaiting = !isLost && state.state === "listening" && !lines.list.childElementCount;
  view.classList.toggle("waiting", isWaiting);
}

/* Show a sentence for a while, and return it. What only readers need is no part of the picture that an overlay lies on. */
function note(sentence, { inOverlay = true } = {}) {
  if (!inOverlay && options.view === "overlay") return null;
  const made = document.createElement("span");
  made.textContent = sentence;
  byId("notes").append(made);
  setTimeout(() => made.remove(), NOTE);
  return made;
}

function apply() {
  const classes = `${options.theme}${options.showsSource ? " with-source" : ""}`;
  document.body.className = `${options.view} ${classes}`;
  if (onTop) onTop.document.body.className = `stage ${classes}`;
  document.querySelector('[data-key="a"]').setAttribute("aria-pressed", options.isAloud);
  showState();
  fit();
}

/* Give rows an even number of pixels, so that the view has a whole number of rows, and half a row is whole too. */
function fit() {
  const body = view.ownerDocument.body;
  const { innerWidth: width, innerHeight: height } = view.ownerDocument.defaultView;
  const size = options.size / 100;
  const count = onTop ? 3 : options.lines || 1;
  let row;
  if (body.classList.contains("reader")) {
    row = 2.1 * parseFloat(getComputedStyle(document.documentElement).fontSize) * size;
  } else if (body.classList.contains("stage")) {
    row = Math.min(Math.max(width * 0.065, 40) * size, (height - 16) / count);
  } else {
    row = Math.min(width * 0.048 * size, (height - 16) / count);
  }
  row = Math.max(8, 2 * Math.floor(row / 2));
  body.style.setProperty("--row", `${row}px`);
  body.style.setProperty("--lines", count);
  lines.resize(row, body.classList.contains("reader"));
}

/* Keep the screen on while captions come, where the browser lets a page do so. */
function keepAwake() {
  const isWanted = Boolean(state.state) && state.state !== "ended" && document.visibilityState === "visible";
  if (!navigator.wakeLock || isWanted === Boolean(wakeLock)) return;
  if (!isWanted) {
    wakeLock.then((lock) => lock?.release());
    wakeLock = null;
    return;
  }
  const forget = () => { if (wakeLock === request) wakeLock = null; };
  const request = navigator.wakeLock.request("screen").then((lock) => {
    lock.onrelease = forget;
    return lock;
  }, forget); /* It is refused with an empty battery, for example. */
  wakeLock = request;
}

/* Put the captions into a small window that stays above the others, and back when it is closed. */
async function toggleOnTop() {
  if (onTop) {
    onTop.close();
    return;
  }
  if (!window.documentPictureInPicture) {
    note("This browser has no window that stays on top.");
    return;
  }
  onTop = await documentPictureInPicture.requestWindow({ width: 720, height: 180 });
  const style = onTop.document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("page.css", location.href);
  onTop.document.head.append(style);
  onTop.document.body.append(view);
  onTop.addEventListener("keydown", press);
  onTop.addEventListener("resize", fit);
  onTop.addEventListener("pagehide", () => {
    onTop = null;
    byId("below").before(view);
    apply();
  });
  note("The captions are in the window on top; w brings them back.");
  apply();
}

const ACTIONS = {
  v: () => options.next("view"),
  c: () => options.next("theme"),
  s: () => options.set("source", options.showsSource ? 0 : 1),
  "+": () => options.move("size", 1),
  "=": () => options.move("size", 1),
  "-": () => options.move("size", -1),
  "]": () => options.lines && options.move("lines", 1),
  "[": () => options.lines && options.move("lines", -1),
  t: () => nextLanguage(),
  a: () => options.set("speak", options.isAloud ? 0 : 1),
  w: () => toggleOnTop(),
  "?": () => note(KEYS),
  End: () => lines.toEnd(),
};

function nextLanguage() {
  const choices = byId("to");
  if (choices.length) choose(choices[(choices.selectedIndex + 1) % choices.length].value.toLowerCase().split(","), true);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  act(event.key, event);
}

function act(key, event) {
  if (!Object.hasOwn(ACTIONS, key)) return;
  event.preventDefault();
  ACTIONS[key]();
  apply();
}

let sleeping = 0;
function wake() {
  byId("bar").classList.add("awake");
  clearTimeout(sleeping);
  sleeping = setTimeout(() => byId("bar").classList.remove("awake"), AWAKE);
}

document.addEventListener("keydown", press);
document.addEventListener("pointermove", wake);
document.addEventListener("pointerdown", wake);
document.addEventListener("visibilitychange", () => { showState(); watch(SILENCE / 2); });
for (const gesture of ["click", "keydown"]) document.addEventListener(gesture, showState);
if (window.speechSynthesis) speechSynthesis.onvoiceschanged = showState; /* Voices load late. */
window.addEventListener("online", connect);
window.addEventListener("resize", fit); /* Of its height: that of the view follows the rows in stage and overlay. */
new ResizeObserver(fit).observe(view);
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", (event) => act(button.dataset.key, event));
}
document.querySelector('[data-key="w"]').hidden = !window.documentPictureInPicture;
byId("to").addEventListener("change", (event) => choose(event.target.value.toLowerCase().split(","), true));
byId("below").addEventListener("click", () => lines.toEnd());
aloud.onLeftOut = (key) => lines.elements.get(key)?.classList.add("unread");
lines.onBelow = (count) => {
  byId("below").hidden = !count;
  byId("below").textContent = `${count} new ↓`;
};
for (const fault of options.faults) note(fault);
if (!navigator.wakeLock) {
  note("This page cannot keep the screen on here: the setting for that is in the device.", { inOverlay: false });
}
setInterval(() => watch(), 1000);
apply();
connect();
