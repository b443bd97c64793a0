import { Options, RANGES } from "./options.js";
import { Lines } from "./lines.js";
import { Aloud } from "./aloud.js";
import { finished, save } from "./saving.js";
import { isRightToLeft, isTall, nameOf, translatePage, ui, word } from "./words.js";
import { HubStream } from "./hub.js";

const SILENCE = 40_000;
/* Milliseconds without anything from the server, which sends at least its state, until the connection counts as lost. */
const NOTE = 15_000;
const AWAKE = 4_000;
/* Milliseconds that the bar is shown after the reader did something; twice as many at first. */
const SIZE_STEP = 10;
const MISSED = 180;
/* Seconds that a reader goes back who has missed something. */
const LEAD = 1.34, TALL_LEAD = 1.5;
/* Heights of a row for one of letters. */

const byId = (id) => document.getElementById(id);
const options = new Options(location.search);
const view = byId("view");
const lines = new Lines(view, byId("lines"), byId("announcer"));
const aloud = new Aloud();
const sheet = byId("sheet");
translatePage();
byId("lines").dataset.empty = word("empty");
let stream = null, last = "", heardAt = 0, isLost = false;
let again = null; /* The note that the connection is back. */
let isNewReader = true, old = 0; /* The number of the last change before a new reader came. */
let isCalm = false, wasCalm = false; /* Whether nothing is to be said but that captions come. */
let refused = ""; /* Why the server does not answer as it should, in its words. */
let languages = []; /* Those that the stream is filtered by. */
let shown = []; /* Those that the page shows: it keeps them when the terminal shows another one. */
let state = { run: "", state: "", sources: [], targets: [], tracks: [] };
let rows = 0; /* Rows that a stage or overlay has. */
let reached = 0; /* Seconds of the run that captions have reached. */
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
  stream = openStream(query);
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

function openStream(query) {
  return document.documentElement.dataset.hub ? new HubStream(query) : new EventSource(`captions?${query}`);
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
  refused = answer?.status === 404 ? word("scan") : answer && !answer.ok ? (await answer.text()).trim() : "";
  ending.abort();
  if (refused && options.view === "overlay") note(refused);
  showState();
  setTimeout(connect, refused ? (document.documentElement.dataset.hub ? 5000 : 30_000) : 2000);
}

function takeState(values) {
  if (isLost) again = note(word("back"), { inOverlay: false });
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
  const known = wanted.flatMap((code) => targets.filter((target) => target.toLowerCase() === code));
  if (known.length < wanted.length) note(`to is one of ${targets.join(", ")} in this run.`);
  const isOwn = (code) => code.split("-")[0] === navigator.language.split("-")[0];
  const own = options.view === "reader" ? targets.filter(isOwn) : [];
  const chosen = known.length ? known : [...own, ...targets].slice(0, 1);
  shown = chosen.map((code) => code.toLowerCase());
  showState();
  showChoice(targets, chosen);
  /* A run in one language has nothing to filter. */
  const filter = targets.length > 1 ? chosen : [];
  if (filter.join() === languages.join()) {
    fit();
    return;
  }
  languages = filter;
  if (isNew) options.set("to", chosen);
  last = "";
  lines.clear();
  showState();
  fit();
  connect();
}

function showChoice(targets, chosen) {
  const choices = targets.length > 1 ? [...targets.map((code) => [code]), targets] : [];
  if (chosen.length > 1 && chosen.length < targets.length) choices.push(chosen);
  byId("languages").hidden = !choices.length;
  byId("to").replaceChildren(...choices.map((codes) => {
    return new Option(codes.map((code) => nameOf(code, code)).join(" + "), codes.join(), false, codes.join() === chosen.join());
  }));
}

function takeCaption(values) {
  const isForeign = values.untranslated && values.spoken && values.spoken !== values.language && !state.tracks.includes(values.track);
  const source = values.untranslated ? "" : values.source;
  reached = Math.max(reached, values.end);
  show(values, {
    text: values.text,
    final: values.final,
    language: (values.untranslated ? values.spoken : values.language) || "",
    rightToLeft: values.right_to_left,
    untranslated: values.untranslated && !(values.spoken && values.spoken === values.language),
    isToRead: !values.untranslated && values.language?.toLowerCase() === aloud.language,
    place: state.tracks.indexOf(values.track),
    column: shown.indexOf(values.language?.toLowerCase()) + 1,
    name: languages.length > 1 && values.language ? nameOf(values.language, values.language) : "",
    label: isForeign ? nameOf(values.spoken) : values.track || "",
    unread: `, ${word("unread")}`,
    source,
    isSourceRightToLeft: isRightToLeft(values.spoken || state.sources[0] || ""),
    committed: values.committed_source.length,
    repaired: values.repaired,
    spoken: values.spoken || (state.sources[0] === "auto" ? "" : state.sources[0] || ""),
  });
}

function takeGap(values) {
  const length = new Intl.NumberFormat(ui, { style: "unit", unit: "second" }).format(Math.round(values.end - values.start));
  const text = `[${word(values.reason === "paused" ? "paused" : "gap")}: ${length}]`;
  const parts = { text, final: true, language: ui, rightToLeft: isRightToLeft(ui), untranslated: false, place: state.tracks.indexOf(values.track) };
  show(values, { ...parts, label: values.track || "", source: "", committed: 0, repaired: [], spoken: "" });
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
  const now = isLost && state.state !== "ended" ? "lost" : state.state || "connecting";
  const isHidden = document.visibilityState === "hidden" && !onTop;
  aloud.adjust((options.isAloud && shown[0]) || "", isHidden || state.state === "paused");
  const fault = options.isAloud ? aloud.fault : "";
  const sentence = [refused || word(now), fault].filter(Boolean).join(" · ");
  const isQuiet = !refused && !fault && (now === "listening" || now === "ended");
  if (byId("state").textContent !== sentence) byId("state").textContent = sentence;
  byId("state").classList.toggle("quiet", isQuiet);
  byId("save").hidden = !state.downloads;
  for (const { body } of [document, onTop?.document].filter(Boolean)) {
    body.dataset.now = now;
    body.classList.toggle("tracks", state.tracks.length > 0);
    body.classList.toggle("pair", languages.length > 1);
  }
  isCalm = isQuiet && now === "listening";
  if (isCalm !== wasCalm) wake();
  wasCalm = isCalm;
  showWaiting();
  keepAwake();
}

function timeOf(seconds) {
  const parts = [Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60].map((part) => String(part).padStart(2, "0"));
  return [Math.floor(seconds / 3600) || [], parts].flat().join(":").replace(/^0/, "");
}

/* What stands in place of a sentence. */
function showWaiting() {
  const isWaiting = !isLost && state.state === "listening" && !lines.list.childElementCount;
  view.classList.toggle("waiting", isWaiting);
  lines.end(state.state === "ended" && options.view !== "overlay" ? word("ended") : "", timeOf(reached));
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
  for (const input of sheet.querySelectorAll("[type=radio]")) input.checked = options[input.name] === input.value;
  sheet.querySelector("[name=source]").checked = options.showsSource;
  sheet.querySelector("[name=final]").checked = options.isWhole;
  byId("size").value = options.size;
  byId("percent").textContent = new Intl.NumberFormat(ui, { style: "percent" }).format(options.size / 100);
  showState();
  fit();
}

/* Give letters and rows their sizes: whole pixels, and of rows an even number, so that half a row is whole too. */
function fit() {
  const { body, defaultView } = view.ownerDocument;
  const { innerWidth: width, innerHeight: height } = defaultView;
  const size = options.size / 100;
  const isReader = body.classList.contains("reader"), isStage = body.classList.contains("stage");
  const lead = shown.some(isTall) ? TALL_LEAD : LEAD;
  const wanted = onTop ? 3 : options.lines;
  let type, row;
  if (isReader) {
    type = Math.min(languages.length > 1 ? 28 : 32, Math.max(24, 20.4 + width * 0.009)) * size;
    row = type * lead;
  } else if (isStage) {
    type = Math.max(28, width * 0.0475) * size;
    row = Math.min(type * lead * 0.94, (height - 16) / (wanted || 1));
  } else {
    row = Math.min(width * 0.048 * size, (height - 16) / wanted);
  }
  row = Math.max(8, 2 * Math.floor(row / 2));
  type = Math.round(isReader ? type : row / (isStage ? lead * 0.94 : 1.4));
  const small = Math.max(14, Math.round(type <= 32 ? type * 0.68 : 22 + (type - 32) * 0.35));
  const step = 2 * Math.round((small * (lead - 0.02)) / 2);
  rows = wanted || Math.max(1, Math.floor((height * 0.91) / row));
  const foot = !isStage ? 8 : wanted ? Math.min(height * 0.05, (height - rows * row) / 2) : (height - rows * row) / 2;
  const gap = 2 * Math.round(row / 4), near = isStage && wanted ? 0 : Math.round(row / 4);
  const sizes = { type, row, small, step, gap, near, high: rows * row, foot: Math.floor(foot) };
  for (const [name, value] of Object.entries(sizes)) body.style.setProperty(`--${name}`, `${value}px`);
  body.style.setProperty("--languages", languages.length || 1);
  const column = view.querySelector(".text")?.clientWidth || byId("lines")?.clientWidth || width;
  body.style.setProperty("--fit", Math.ceil(column / (type * 0.5)));
  lines.resize({ row, step, type }, isReader, isReader && options.showsSource);
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
  if (!window.documentPictureInPicture) return;
  onTop = await documentPictureInPicture.requestWindow({ width: 720, height: 180 });
  const style = onTop.document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("page.css", location.href);
  onTop.document.head.append(style);
  Object.assign(onTop.document.documentElement, { lang: ui, dir: document.documentElement.dir });
  onTop.document.body.append(view);
  onTop.addEventListener("keydown", press);
  onTop.addEventListener("resize", fit);
  onTop.addEventListener("pagehide", () => {
    onTop = null;
    byId("below").before(view);
    apply();
  });
  apply();
}

const ACTIONS = {
  v: () => options.next("view"),
  c: () => options.next("theme"),
  s: () => options.set("source", options.showsSource ? 0 : 1),
  m: () => { openSheet(false); lines.back(MISSED); },
  f: () => showWhole(!options.isWhole),
  "+": () => options.move("size", options.size + SIZE_STEP),
  "=": () => options.move("size", options.size + SIZE_STEP),
  "-": () => options.move("size", options.size - SIZE_STEP),
  "]": () => options.view !== "reader" && options.move("lines", rows + 1),
  "[": () => options.view !== "reader" && options.move("lines", rows - 1),
  t: () => nextLanguage(),
  a: () => options.set("speak", options.isAloud ? 0 : 1),
  w: () => toggleOnTop(),
  "?": () => note(Object.entries(KEYS).map(([key, name]) => `${key} ${word(name)}`).join(" · ")),
  Escape: () => openSheet(false),
  End: () => lines.toEnd(),
};

const KEYS = { v: "view", "+ −": "size", s: "source", f: "whole", m: "missed", c: "colours", t: "language", a: "aloud", w: "ontop", End: "newest" };

/* Show sentences only once they are finished, or as they grow. What is shown already stays. */
function showWhole(isWhole) {
  options.set("final", isWhole ? 1 : 0);
  if (isWhole) lines.removeUnfinished();
  connect();
}

/* Save what was said so far, in the languages that are shown, as far as the run keeps it. */
async function saveSoFar(format) {
  const query = new URLSearchParams({ final: 1, last: RANGES.last[1] });
  if (languages.length) query.set("to", languages);
  save(await finished(openStream(query)), format, word("captions"));
}

function openSheet(isOpen) {
  if (isOpen === !sheet.hidden) return;
  sheet.hidden = !isOpen;
  byId("aa").setAttribute("aria-expanded", isOpen);
  if (!isOpen && sheet.contains(document.activeElement)) byId("aa").focus();
  wake();
}

function nextLanguage() {
  const choices = byId("to");
  if (choices.length) choose(choices[(choices.selectedIndex + 1) % choices.length].value.toLowerCase().split(","), true);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  if (event.target.type === "range" && event.key !== "Escape") return;
  act(event.key, event);
}

function act(key, event) {
  if (!Object.hasOwn(ACTIONS, key)) return;
  event.preventDefault();
  ACTIONS[key]();
  apply();
}

let sleeping = 0, patience = 2 * AWAKE;
function wake() {
  const bar = byId("bar");
  bar.classList.remove("asleep");
  clearTimeout(sleeping);
  if (isCalm && sheet.hidden) sleeping = setTimeout(() => bar.classList.add("asleep"), patience);
}

/* An overlay shows nothing but its text, until somebody points at it. */
function point() {
  patience = AWAKE;
  wake();
  byId("bar").classList.add("awake");
  clearTimeout(hiding);
  hiding = setTimeout(() => byId("bar").classList.remove("awake"), AWAKE);
}
let hiding = 0;

document.addEventListener("keydown", press);
for (const gesture of ["pointermove", "pointerdown", "keydown", "wheel"]) document.addEventListener(gesture, point, { passive: true });
view.addEventListener("pointerdown", () => openSheet(false));
byId("aa").addEventListener("click", () => openSheet(sheet.hidden));
for (const button of sheet.querySelectorAll("[data-format]")) {
  button.setAttribute("aria-label", `${word("save")} ${button.textContent}`);
  button.addEventListener("click", () => saveSoFar(button.dataset.format));
}
byId("size").addEventListener("input", (event) => { options.move("size", Number(event.target.value)); apply(); });
sheet.addEventListener("change", ({ target }) => {
  if (target.name === "final") showWhole(target.checked);
  else if (target.name) options.set(target.name, target.type === "checkbox" ? Number(target.checked) : target.value);
  apply();
});
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
lines.onBelow = (count, isAtEnd) => {
  byId("below").hidden = isAtEnd;
  byId("below").textContent = count ? `↓ ${count}` : "↓";
  byId("below").setAttribute("aria-label", count ? `${word("newest")} (${count})` : word("newest"));
};
for (const fault of options.faults) note(fault);
byId("asleep").hidden = Boolean(navigator.wakeLock);
setInterval(() => watch(), 1000);
apply();
connect();
