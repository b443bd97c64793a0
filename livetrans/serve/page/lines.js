/* The lines of the stream as elements, and the calm way in which they scroll.

   The view is a whole number of rows high, and is scrolled by whole rows only, so that no row is ever cut. When a
   sentence begins, it gets room for a few rows (`room`), and the rows above scroll up by that much at once. While it
   grows within its room, nothing moves. When the room is full, the page turns (`settle`): it scrolls by another room,
   and the row that was full stays in view. Where another line still grows above, it keeps its own room (`hold`). In a
   view of few rows the room is one row: the rows before it stay until they are needed. `scrollTarget` is where the view
   belongs; a reader who scrolled up stays where they are until they come back to the end. */

const KEPT = 500;
/* Lines that stay in the page: memory must not grow with the hours. */
const SENTENCE = 160;
/* Columns of a sentence that is not among the longest; a longer one turns the page. */
const SHARE = 0.6;
/* Most of the rows that a sentence gets, where there are more than a few. */
const FEW = 3;
/* Rows up to which all but one stay with the sentences before. */
const ANNOUNCED = 5;

export class Lines {
  constructor(view, list, announcer) {
    this.view = view;
    this.list = list;
    this.announcer = announcer;
    this.row = 1;
    this.elements = new Map();
    this.scrollTarget = 0;
    this.isAtEnd = true;
    this.hasHistory = true; /* Whether the reader can scroll up. */
    this.below = 0; /* Lines that were finished while the reader was further up. */
    this.onBelow = () => {};
    view.addEventListener("scroll", () => this.look());
  }

  clear() {
    this.elements.clear();
    this.list.replaceChildren();
    this.scrollTarget = 0;
    this.isAtEnd = true;
    this.settle();
  }

  /* Show a line as it is now; one without text is removed. Return whether it has become final. */
  show(run, values, parts) {
    const key = `${run} ${values.line}`;
    let line = this.elements.get(key);
    if (!parts.text) {
      if (line) line.remove();
      this.elements.delete(key);
      this.settle();
      return false;
    }
    const isNew = !line;
    if (isNew) {
      this.hold();
      line = this.make(key, run, values.line);
    }
    const isLast = !line.nextElementSibling;
    /* A line that was left behind comes back above all others when a name in it is corrected. */
    const isOld = isNew && !isLast && !line.previousElementSibling;
    const wasFinal = line.classList.contains("final");
    line.querySelector(".text").dir = parts.rightToLeft ? "rtl" : "ltr";
    line.classList.toggle("final", parts.final);
    line.classList.toggle("unfinished", !parts.final);
    line.classList.toggle("untranslated", parts.untranslated);
    line.classList.toggle("second", parts.isSecond);
    line.classList.toggle("stopped", /[.…!?。！？؟।]["'»”’)\]]*$/.test(parts.text));
    write(line.querySelector(".label"), parts.label);
    write(line.querySelector(".words"), parts.text, parts.language);
    const source = line.querySelector(".source");
    source.hidden = !parts.source;
    source.title = parts.repaired.length ? `repaired: ${parts.repaired.join(", ")}` : "";
    write(source.firstChild, parts.source.slice(0, parts.committed), parts.spoken);
    write(source.lastChild, parts.source.slice(parts.committed), parts.spoken);
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

  make(key, run, number) {
    const line = element("div", "line");
    const source = element("div", "source");
    source.dir = "auto";
    source.append(element("span", "committed"), element("span", "partial"));
    const text = element("div", "text");
    text.append(element("span", "words"));
    line.append(element("div", "label"), text, source);
    line.dataset.run = run;
    line.dataset.line = number;
    const after = [...this.list.children].find((other) => other.dataset.run === run && other.dataset.line > number);
    this.list.insertBefore(line, after || null);
    this.elements.set(key, line);
    return line;
  }

  /* Mark what an earlier run has left unfinished: nothing changes it any more. */
  leave(run) {
    for (const line of this.list.querySelectorAll(".unfinished")) {
      if (line.dataset.run !== run) line.classList.replace("unfinished", "final");
    }
  }

  /* Let lines that still grow, on the other track, keep their room, so that they do not move those below. */
  hold() {
    if (!this.hasHistory) return;
    for (const line of this.list.querySelectorAll(".unfinished")) {
      line.style.minHeight = `${Math.max(line.offsetHeight, this.room(line, this.view.clientHeight))}px`;
    }
  }

  /* Remove the oldest lines. For a reader further up, the others stay where they are. */
  forget() {
    while (this.elements.size > KEPT) {
      const line = this.list.firstElementChild;
      const height = line.nextElementSibling.offsetTop - line.offsetTop;
      this.elements.delete(`${line.dataset.run} ${line.dataset.line}`);
      line.remove();
      this.scrollTarget -= height;
      if (!this.isAtEnd) this.view.scrollTop -= height;
    }
  }

  /* Scroll, if need be, by whole rows: when a sentence begins, so that it has room, and when its room is full. */
  settle(begins = false) {
    const last = this.list.lastElementChild;
    const height = this.view.clientHeight;
    const end = last ? last.offsetTop + last.offsetHeight : 0;
    if (last) {
      const room = this.room(last, height);
      if (begins) this.scrollBy(last.offsetTop + room - (this.scrollTarget + height));
      /* The source that a finished line gets below it does not move it: the next line does. */
      const text = last.querySelector(".text");
      const shown = last.classList.contains("final") ? text.offsetTop + text.offsetHeight : end;
      /* The row that was full stays: an update may have put words into it and below it at once. */
      const turn = Math.max(this.row, Math.min(room, height - this.row));
      while (shown > this.scrollTarget + height) this.scrollBy(turn);
    }
    this.list.style.paddingBottom = `${Math.max(0, this.scrollTarget + height - end)}px`;
    if (this.isAtEnd) {
      this.view.scrollTop = this.scrollTarget;
      this.below = 0;
    }
    this.onBelow(this.below);
  }

  /* Return the height that a sentence gets, and its label above it. */
  room(line, height) {
    const text = line.querySelector(".text");
    const rows = Math.floor(height / this.row);
    const columns = text.clientWidth / (this.row * 0.36);
    const most = rows <= FEW ? 1 : Math.floor(rows * SHARE);
    const wanted = Math.max(FEW, Math.ceil(SENTENCE / columns));
    return this.row * Math.max(1, Math.min(most, wanted)) + text.offsetTop - line.offsetTop;
  }

  /* Scroll down at least so far, to where no row is cut at the top. */
  scrollBy(distance) {
    if (distance <= 0) return;
    this.scrollTarget += distance;
    for (const line of this.list.children) {
      const hidden = this.scrollTarget - line.offsetTop;
      if (hidden > 0 && hidden < line.offsetHeight) {
        this.scrollTarget += Math.ceil(hidden / this.row) * this.row - hidden;
        return;
      }
    }
  }

  /* Take another height of rows, or another size of the window: the last sentence is in view, with its room. */
  resize(row, hasHistory) {
    this.row = row;
    this.hasHistory = hasHistory;
    this.isAtEnd = this.isAtEnd || !hasHistory;
    this.scrollTarget = 0;
    for (const line of this.list.children) line.style.minHeight = "";
    this.settle(true);
  }

  /* Called when the view was scrolled, by the reader or because another layout has less room. */
  look() {
    const end = Math.min(this.scrollTarget, this.view.scrollHeight - this.view.clientHeight);
    this.isAtEnd = !this.hasHistory || this.view.scrollTop >= end - this.row / 2;
    if (this.isAtEnd && (this.below || this.view.scrollTop < end)) this.toEnd();
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

/* Put text into an element as text. What stays is left alone: a selection in it, too. */
function write(target, text, language = "") {
  if (!target.firstChild) target.append("");
  const node = target.firstChild;
  let kept = 0;
  while (kept < text.length && kept < node.data.length && text[kept] === node.data[kept]) kept += 1;
  if (kept < node.data.length || kept < text.length) node.replaceData(kept, node.data.length - kept, text.slice(kept));
  if (target.lang !== language) target.lang = language;
}
