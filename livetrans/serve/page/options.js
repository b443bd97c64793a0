/* What the address says about the view. Each parameter is checked: a wrong value gives its default, and a sentence. */

const CHOICES = {
  view: ["reader", "stage", "overlay"],
  theme: ["auto", "light", "dark", "outline"],
  source: ["0", "1"],
  final: ["0", "1"],
  speak: ["0", "1"],
};
export const RANGES = { size: [50, 300], lines: [1, 20], last: [0, 2000] };
const DEFAULTS = {
  reader: { theme: "auto", source: "1", lines: 0 },
  stage: { theme: "dark", source: "0", lines: 0 },
  overlay: { theme: "outline", source: "0", lines: 2 },
};

/* Return the sentence about a wrong parameter; nothing for a right one. */
function faultOf(name, value) {
  if (CHOICES[name]) {
    return CHOICES[name].includes(value) ? "" : `${name} is one of ${CHOICES[name].join(", ")}: the default is shown.`;
  }
  if (RANGES[name]) {
    const [least, most] = RANGES[name];
    const isRight = /^[0-9]{1,4}$/.test(value) && value >= least && value <= most;
    return isRight ? "" : `${name} is a number from ${least} to ${most}: the default is shown.`;
  }
  if (name === "to") {
    return /^[a-z]{2,8}(-[a-z0-9]{2,8})*(,[a-z]{2,8}(-[a-z0-9]{2,8})*)*$/i.test(value)
      ? "" : "to is a code of a language, as in to=fr: the first language is shown.";
  }
  return "The address has a parameter that this page does not know.";
}

export class Options {
  constructor(query) {
    this.given = {};
    this.faults = [];
    for (const [name, value] of new URLSearchParams(query)) {
      const fault = faultOf(name, value);
      if (fault) this.faults.push(fault);
      else this.given[name] = value;
    }
  }

  get view() { return this.given.view || "reader"; }
  get theme() { return this.given.theme || DEFAULTS[this.view].theme; }
  /* Rows of a stage or overlay; 0 for as many as the window has. */
  get lines() { return Number(this.given.lines || DEFAULTS[this.view].lines); }
  get size() { return Number(this.given.size || 100); }
  get showsSource() { return (this.given.source || DEFAULTS[this.view].source) === "1"; }
  get isWhole() { return this.given.final === "1"; }
  get isAloud() { return this.given.speak === "1"; }
  get languages() { return (this.given.to || "").toLowerCase().split(",").filter(Boolean); }

  /* Set one, and keep the address so that it gives the same view again. */
  set(name, value) {
    this.given[name] = String(value);
    history.replaceState(null, "", `?${new URLSearchParams(this.given).toString().replaceAll("%2C", ",")}`);
  }

  next(name) {
    const choices = CHOICES[name];
    this.set(name, choices[(choices.indexOf(this[name]) + 1) % choices.length]);
  }

  move(name, value) {
    const [least, most] = RANGES[name];
    this.set(name, Math.min(most, Math.max(least, value)));
  }
}
