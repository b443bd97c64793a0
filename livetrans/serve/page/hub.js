/* A hub: files with the lines that have changed, in place of a stream (docs/event.md). Each says which change it follows,
   so that nothing is missed or shown twice, whatever a network or a cache does. It is used like an EventSource. */

const POLL = 1000, SLOW = 8000, LONGEST = 10_000;
/* Milliseconds between two requests: of a page that is seen, of one that is hidden, and while the hub does not answer. */
let beat = 0; /* Of the newest file, also of an earlier stream: it shows that livetrans reaches the hub. */

export class HubStream {
  constructor(query) {
    const [run, number] = (query.get("after") || "").split("-");
    Object.assign(this, { run, reached: Number(number || 0), hasBegun: Boolean(run), url: "now", readyState: 0 });
    this.languages = (query.get("to") || "").split(",").filter(Boolean);
    this.wantsFinals = query.get("final") === "1";
    this.first = Number(query.get("last") || 50); /* Finished lines of a new reader. */
    this.versions = new Map(); /* The newest change of each line. */
    this.takers = {};
    this.failures = 0;
    this.poll();
  }

  addEventListener(name, take) {
    this.takers[name] = take;
  }

  close() {
    this.readyState = EventSource.CLOSED;
    clearTimeout(this.timer);
  }

  async poll() {
    let pause = document.visibilityState === "hidden" || this.hasEnded ? SLOW : POLL;
    try {
      if (!this.hasBegun && this.first > 50) await this.take(await this.fetch("all"));
      await this.take(await this.fetch(this.hasBegun ? "tail" : "now"));
      this.failures = 0;
      if (!this.isClosed) this.readyState = EventSource.OPEN;
    } catch (fault) {
      if (this.isClosed) return;
      this.failures += 1;
      pause = Math.min(POLL * 2 ** this.failures, LONGEST) * (0.5 + Math.random()); /* Readers do not come back all at once. */
      if (fault.isUnknown) this.close();
      this.onerror?.();
    }
    if (!this.isClosed) this.timer = setTimeout(() => this.poll(), pause);
  }

  get isClosed() {
    return this.readyState === EventSource.CLOSED;
  }

  async fetch(name) {
    const answer = await fetch(name, { cache: "no-store", signal: AbortSignal.timeout(15_000) });
    if (!answer.ok) throw Object.assign(new Error(name), { isUnknown: answer.status === 404 });
    return (await answer.text()).split("\n\n").filter(Boolean).map(parsed);
  }

  /* Take a file. Where it does not follow what the page has, take first those that go further back. */
  async take([head, ...frames], isWhole = !this.hasBegun) {
    if (this.isClosed) return;
    const { run, after, upto } = head.data;
    if (this.run && this.run !== run) {
      this.reached = 0;
      this.versions.clear();
    }
    this.run = run;
    if (after > this.reached && !isWhole) {
      const now = await this.fetch("now");
      if (now[0].data.after > this.reached) await this.take(await this.fetch("all"), true);
      await this.take(now, true);
      if (this.isClosed) return;
    }
    const isNew = head.data.beat !== beat;
    beat = head.data.beat;
    const wanted = frames.filter(({ event, data }) => event === "state" ? isNew || !this.hasBegun || data.state === "ended" : this.wants(data));
    const finals = this.hasBegun ? [] : wanted.filter(({ event, data }) => event !== "state" && data.final !== false);
    const left = new Set(finals.slice(0, Math.max(finals.length - this.first, 0)));
    this.hasBegun = true;
    for (const frame of wanted) {
      if (this.isClosed) return; /* Another language was chosen by what came so far. */
      const { event, id, data } = frame, number = Number(id.split("-")[1]);
      if (event === "state") this.hasEnded = data.state === "ended";
      else if (number <= (this.versions.get(data.line) || 0)) continue;
      else this.versions.set(data.line, number);
      if (!left.has(frame)) this.takers[event]?.({ data: JSON.stringify(data), lastEventId: id });
    }
    if (isWhole || after <= this.reached) this.reached = Math.max(this.reached, upto);
  }

  wants({ language, final, everybody }) {
    const isRead = !this.languages.length || !language || everybody || this.languages.includes(language.toLowerCase());
    return isRead && !(this.wantsFinals && final === false);
  }
}

function parsed(frame) {
  const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/s)));
  return { event: fields.event, id: fields.id || "", data: JSON.parse(fields.data) };
}
