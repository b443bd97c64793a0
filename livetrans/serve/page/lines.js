/* The lines of the stream as elements, and the calm way in which they scroll.

   A line has the text of one segment, in each language that is shown, and below them its source. When a sentence
   begins, it gets room for a few rows (`room`), and the rows above scroll up by that much at once. While it grows within
   its room, nothing moves. When the room is full, the page turns (`settle`): it scrolls by another room, and the row
   that was full stays in view. Scrolling ends at the edge of a row, so that none is cut. Where another line still grows
   above, it keeps its own room (`hold`). In a view of few rows the room is one row: the rows before it stay until they
   are needed. `scrollTarget` is where the view belongs; a reader who scrolled up stays where they are until they come
   back to the end. */

const KEPT = 500;
/* Texts that stay in the page: memory must not grow with the hours. */
const SENTENCE = 130, SENTENCE_ON_STAGE = 100;
/* Letters of a sentence that is not among the longest, half as many where they are wide; a longer one turns the page. */
const SHARE = 0.5;
/* Most of the rows that a sentence gets, where there are more than a few. */
const FEW = 3;
/* Rows up to which all but one stay with the sentences before. */
const ANNOUNCED = 5;
const DIVIDED = 6;
/* Letters of the shortest word that is divided. */
const WIDE = /^(ja|zh|yue|ko)/;
const SYLLABLE = /(?<!sc|[cpt](?=h)|s(?=ch|p|t)|[bdfgkpt](?=[rl])|z(?=w)|k(?=n))(?=(?:sch|ch|ph|th|qu|sp|st|zw|kn|[bdfgkpt][rl]|[b-df-hj-np-tv-zß])[aeiouyäöü])/giu;
/* Where a word in Latin letters may be divided: before a consonant that a vowel follows. */

export class Lines {
  constructor(view, list, announcer) {
    this.view = view;
    this.list = list;
    this.announcer = announcer;
    this.row = this.step = this.type = 1; /* Heights in pixels: of a row, of a row of the source, of letters. */
    this.elements = new Map(); /* Of each line of the stream, its text. */
    this.groups = new Map(); /* Of each segment, its line. */
    this.scrollTarget = 0;
    this.isAtEnd = true;
    this.hasHistory = true; /* Whether the reader can scroll up. */
    this.below = 0; /* Lines that were finished while the reader was further up. */
    this.onBelow = () => {};
    this.ending = null; /* What stands below the last line once the run has ended. */
    this.pen = document.createElement("canvas").getContext("2d");
    view.addEventListener("scroll", () => this.look());
  }

  clear() {
    this.elements.clear();
    this.groups.clear();
    this.list.replaceChildren(...(this.ending ? [this.ending] : []));
    this.scrollTarget = 0;
    this.isAtEnd = true;
    this.settle();
  }

  /* Show a line as it is now; one without text is removed. Return whether it has become final. */
  show(run, values, parts) {
    const key = `${run} ${values.line}`;
    let text = this.elements.get(key);
    if (!parts.text) {
      if (text) this.remove(key);
      this.settle();
      return false;
    }
    const isNew = !text;
    if (isNew) text = this.make(key, run, values, parts);
    const line = text.parentNode;
    const isLast = line === this.last;
    /* A line that was left behind comes back above all others when a name in it is corrected. */
    const isOld = isNew && !isLast && !line.previousElementSibling;
    const wasFinal = text.classList.contains("final");
    text.dir = parts.rightToLeft ? "rtl" : "ltr";
    line.dir = line.querySelector(".text").dir; /* So a name is beside its words. */
    text.style.setProperty("--place", parts.column || "1 / -1");
    text.classList.toggle("final", parts.final);
    text.classList.toggle("unfinished", !parts.final);
    text.classList.toggle("untranslated", parts.untranslated);
    line.dataset.end = values.end;
    const words = text.firstChild;
    text.said = parts.text;
    write(words, this.soften(text), parts.language);
    text.lang = parts.language; /* Words of another font than their row would make it higher. */
    words.dataset.unread = parts.unread;
    if (parts.name) words.dataset.name = parts.name;
    line.classList.toggle("done", !line.querySelector(".unfinished"));
    line.classList.toggle("first", parts.place === 0);
    line.classList.toggle("second", parts.place === 1);
    write(line.firstChild, parts.label);
    for (const one of [line, line.nextElementSibling]) this.name(one);
    if (text === line.querySelector(".text")) {
      const source = line.lastChild;
      source.hidden = !parts.source;
      source.title = parts.repaired.length ? `repaired: ${parts.repaired.join(", ")}` : "";
      source.classList.toggle("turned", parts.rightToLeft !== parts.isSourceRightToLeft);
      source.lang = parts.spoken;
      source.dir = parts.isSourceRightToLeft ? "rtl" : "ltr";
      write(source.firstChild, parts.source.slice(0, parts.committed), parts.spoken);
      write(source.lastChild, parts.source.slice(parts.committed), parts.spoken);
    }
    const isFinished = parts.final && !wasFinal && !isOld;
    if (isFinished && !this.isAtEnd) this.below += 1;
    this.forget();
    this.settle(isNew && isLast);
    return isFinished;
  }

  /* Say a finished line to screen readers, once. */
  announce(parts) {
    const said = document.createElement("p");
    write(said, parts.label ? `${parts.label}: ${parts.text}` : parts.text, parts.language);
    said.dir = parts.rightToLeft ? "rtl" : "ltr";
    this.announcer.append(said);
    while (this.announcer.children.length > ANNOUNCED) this.announcer.firstChild.remove();
  }

  get last() {
    return this.ending ? this.ending.previousElementSibling : this.list.lastElementChild;
  }

  make(key, run, values, parts) {
    const group = `${run} ${values.segment_id >= 0 ? `s${values.segment_id}` : values.line}`;
    let line = this.groups.get(group);
    if (!line) {
      this.hold();
      line = element("div", "line");
      const source = element("div", "source");
      source.append(element("span", "committed"), element("span", "partial"));
      line.append(element("div", "label"), source);
      Object.assign(line.dataset, { run, line: values.line, group });
      const after = [...this.list.children].find((one) => one.dataset.run === run && Number(one.dataset.line) > values.line);
      this.list.insertBefore(line, after || this.ending);
      this.groups.set(group, line);
      this.list.querySelector(".newest")?.classList.remove("newest");
      this.last.classList.add("newest");
    }
    const text = element("div", "text");
    Object.assign(text.dataset, { key, column: parts.column });
    text.append(element("span", "words"));
    const next = [...line.querySelectorAll(".text")].find((one) => one.dataset.column > parts.column);
    line.insertBefore(text, next || line.lastChild);
    this.elements.set(key, text);
    return text;
  }

  remove(key) {
    const text = this.elements.get(key), line = text.parentNode, next = line.nextElementSibling;
    text.remove();
    this.elements.delete(key);
    if (line.querySelector(".text")) return;
    this.groups.delete(line.dataset.group);
    line.remove();
    this.name(next);
    this.last?.classList.add("newest");
  }

  /* A name that was just said is not said again. */
  name(line) {
    const label = line?.dataset.group && line.firstChild.textContent;
    if (!label) return;
    const before = line.previousElementSibling;
    line.classList.toggle("again", before?.dataset.run === line.dataset.run && before.firstChild.textContent === label);
  }

  /* Show only whole sentences from now on. */
  removeUnfinished() {
    for (const text of this.list.querySelectorAll(".unfinished")) this.remove(text.dataset.key);
    this.settle();
  }

  /* Mark what an earlier run has left unfinished: nothing changes it any more. */
  leave(run) {
    for (const text of this.list.querySelectorAll(".unfinished")) {
      if (text.parentNode.dataset.run === run) continue;
      text.classList.replace("unfinished", "final");
      text.parentNode.classList.add("done");
    }
  }

  /* Say below the last line that the run has ended, and how long it was; without a sentence, no more. */
  end(sentence = "", length = "") {
    const isSame = Boolean(this.ending) === Boolean(sentence);
    if (!isSame && sentence) {
      this.ending = element("div", "end");
      this.ending.append(element("span", ""), element("small", ""));
      this.list.append(this.ending);
    } else if (!isSame) {
      this.ending.remove();
      this.ending = null;
    }
    if (sentence) write(this.ending.firstChild, sentence);
    if (sentence) write(this.ending.lastChild, length);
    if (!isSame) this.settle(true);
  }

  /* Let lines that still grow, on the other track, keep their room, so that they do not move those below. */
  hold() {
    if (!this.hasHistory) return;
    for (const text of this.list.querySelectorAll(".unfinished")) {
      const line = text.parentNode;
      line.style.minHeight = `${Math.max(line.offsetHeight, this.room(line, this.view.clientHeight))}px`;
    }
  }

  /* Remove the oldest lines. For a reader further up, the others stay where they are. */
  forget() {
    while (this.elements.size > KEPT) {
      const line = this.list.firstElementChild;
      const height = line.nextElementSibling.offsetTop - line.offsetTop;
      for (const text of line.querySelectorAll(".text")) this.remove(text.dataset.key);
      this.scrollTarget -= height;
      if (!this.isAtEnd) this.view.scrollTop -= height;
    }
  }

  /* Scroll, if need be, to the edge of a row: when a sentence begins, so that it has room, and when its room is full. */
  settle(begins = false) {
    const last = this.list.lastElementChild;
    const height = this.view.clientHeight;
    const end = last ? last.offsetTop + last.offsetHeight : 0;
    if (last) {
      const room = this.room(last, height);
      /* The source that a finished line gets below it does not move it: the next line does. */
      const bottoms = [...last.querySelectorAll(".text")].map((text) => text.offsetTop + text.offsetHeight);
      const shown = last.classList.contains("done") ? Math.max(...bottoms) : end;
      if (begins) {
        this.scrollBy(Math.max(last.offsetTop + room, shown) - (this.scrollTarget + height));
        for (const late of this.list.querySelectorAll(".late")) late.classList.remove("late");
      }
      /* The row that was full stays: an update may have put words into it and below it at once. */
      const turn = Math.max(this.row, Math.min(room, height - this.row));
      while (shown > this.scrollTarget + height) this.scrollBy(turn);
      /* A source that would be cut waits for the next line. */
      last.classList.toggle("late", end > this.scrollTarget + height);
    }
    this.list.style.paddingBottom = `${Math.max(0, this.scrollTarget + height - end)}px`;
    if (this.isAtEnd) {
      this.view.scrollTop = this.scrollTarget;
      this.below = 0;
    }
    this.onBelow(this.below, this.isAtEnd);
  }

  /* Return the height that a sentence gets, with its label above it and its source below. */
  room(line, height) {
    const text = line.querySelector(".text");
    if (!text) return line.offsetHeight + this.row * this.hasHistory;
    const rows = Math.floor(height / this.row);
    const isWide = WIDE.test(text.firstChild.lang);
    const columns = Math.floor(text.clientWidth / (this.type * (isWide ? 1 : 0.5))) || 1;
    const most = rows <= FEW ? 1 : Math.floor(rows * SHARE);
    const wanted = Math.max(FEW, Math.ceil((this.hasHistory ? SENTENCE : SENTENCE_ON_STAGE) / (isWide ? 2 : 1) / columns));
    const source = this.hasSource ? 2 * this.step + 4 : 0;
    return this.row * Math.max(1, Math.min(most, wanted)) + source + text.offsetTop - line.offsetTop;
  }

  /* Scroll down at least so far, to where no row is cut at the top. */
  scrollBy(distance) {
    if (distance <= 0) return;
    this.scrollTarget += distance;
    const isCut = (one) => one.offsetTop < this.scrollTarget && one.offsetTop + one.offsetHeight > this.scrollTarget;
    const line = [...this.list.children].find(isCut);
    const part = line && [...line.children].find((one) => one.offsetHeight && isCut(one));
    if (!part) return;
    const row = part.className === "label" ? part.offsetHeight : part === line.lastChild ? this.step : this.row;
    this.scrollTarget = part.offsetTop + Math.ceil((this.scrollTarget - part.offsetTop) / row) * row;
  }

  /* Take other sizes, or another size of the window: the last sentence is in view, with its room. */
  resize(sizes, hasHistory, hasSource) {
    Object.assign(this, sizes, { hasHistory, hasSource });
    this.isAtEnd = this.isAtEnd || !hasHistory;
    this.scrollTarget = 0;
    this.pen.font = getComputedStyle(this.list).font;
    for (const line of this.groups.values()) line.style.minHeight = "";
    for (const text of this.elements.values()) write(text.firstChild, this.soften(text), text.firstChild.lang);
    this.settle(true);
  }

  /* Where the browser divides no words: mark where those may be divided that are longer than a row. */
  soften(text) {
    const longest = Math.max(0, ...text.said.split(" ").map((word) => word.length));
    if (longest < DIVIDED || hyphenates()) return text.said;
    const width = text.clientWidth;
    if (longest * this.type < width) return text.said;
    return text.said.replace(/\p{Script=Latin}{6,}\S*/gu, (word) => this.pen.measureText(word).width <= width ? word
      : word.replace(SYLLABLE, (_, at) => (at > 1 && at <= word.length - 3 ? "\u00ad" : "")));
  }

  /* Called when the view was scrolled, by the reader or because another layout has less room. */
  look() {
    const end = Math.min(this.scrollTarget, this.view.scrollHeight - this.view.clientHeight);
    this.isAtEnd = !this.hasHistory || this.view.scrollTop >= end - this.row / 2;
    this.onBelow(this.below, this.isAtEnd);
    if (this.isAtEnd && (this.below || this.view.scrollTop < end)) this.toEnd();
  }

  /* Go back to where the last seconds begin. */
  back(seconds) {
    const first = [...this.groups.values()].find((line) => line.dataset.end > this.last.dataset.end - seconds);
    if (!first || !this.hasHistory) return;
    this.view.scrollTop = Math.max(0, first.offsetTop - this.list.firstElementChild.offsetTop);
    this.look();
  }

  toEnd() {
    this.isAtEnd = true;
    this.settle();
  }
}

function element(name, className) {
  const made = document.createElement(name);
  made.className = className;
  return made;
}

/* Return whether the browser divides words by itself: some have no dictionaries. */
let isHyphenating;
function hyphenates() {
  if (isHyphenating === undefined) {
    const probe = Object.assign(element("div", ""), { lang: "de", textContent: "Bibliotheksöffnungszeiten" });
    probe.style.cssText = "position:absolute;visibility:hidden;width:6em;font-size:20px;line-height:20px;hyphens:auto;overflow-wrap:normal";
    document.body.append(probe);
    isHyphenating = probe.offsetHeight > 20;
    probe.remove();
  }
  return isHyphenating;
}

/* Put text into an element as text. What stays is left alone: a selection in it, too. */
function write(target, text, language = "") {
  if (!target.firstChild) target.append("");
  const node = target.firstChild;
  let kept = 0;
  while (kept < text.length && kept < node.data.length && text[kept] === node.data[kept]) kept += 1;
  if (kept < node.data.length || kept < text.length) node.replaceData(kept, node.data.length - kept, text.slice(kept));
  if (target.lang !== language) target.lang = language;
}
