/* What was said so far, as a file that the reader saves. */

const QUIET = 1500;
/* Milliseconds without another line after which all have come. */

/* Return the finished captions of a stream, in their order. Of a line that comes twice, the newest is kept. */
export function finished(stream) {
  const lines = new Map();
  return new Promise((done) => {
    let waiting = 0;
    const wait = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        if (stream.readyState === EventSource.CONNECTING) return wait();
        stream.close();
        done([...lines.values()].filter(({ text }) => text).sort((one, other) => one.line - other.line));
      }, QUIET);
    };
    wait();
    for (const name of ["state", "caption"]) stream.addEventListener(name, wait);
    stream.addEventListener("caption", ({ data }) => {
      const values = JSON.parse(data);
      if (values.final) lines.set(values.line, values);
    });
  });
}

const FORMATS = {
  txt: (lines) => lines.map(spoken).join("\n") + "\n",
  srt: (lines) => lines.map((one, at) => `${at + 1}\n${time(one.start)} --> ${time(Math.max(one.end, one.start + 1))}\n${spoken(one)}\n`).join("\n"),
};

function spoken({ text, track }) {
  return track ? `${track}: ${text}` : text;
}

function time(seconds) {
  return new Date(1000 * seconds).toISOString().slice(11, 23).replace(".", ",");
}

/* Offer captions as a file: `format` is txt or srt. */
export function save(lines, format, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([FORMATS[format](lines)], { type: "text/plain" }));
  link.download = `${name}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
