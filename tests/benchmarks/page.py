"""Time from a caption's publication to its paint on the page, in headless Chromium on this machine.

    python -m tests.benchmarks.page [CAPTIONS] [VIEW]

CAPTIONS (300) captions grow by a word each, about ten a second, below 50 finished lines; VIEW is `reader`. The end is
the first task after the frame that has the text.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from livetrans.metrics.latency import percentile
from tests.serve.browser import Browser, find_browser
from tests.serve.reader import caption, served

TEXTS = Path(__file__).parents[2] / "recordings" / "long.de.txt"
PAINTED = """
window.painted = {};
document.addEventListener("DOMContentLoaded", () => {
  const lines = document.getElementById("lines");
  new MutationObserver(() => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      const last = lines.lastElementChild;
      const key = last && `${last.dataset.line} ${last.querySelector(".words").textContent}`;
      window.painted[key] ??= performance.timeOrigin + performance.now();
    };
    port2.postMessage(null);
  })).observe(lines, { subtree: true, childList: true, characterData: true });
});
"""


def main() -> None:
    count, view = [*sys.argv[1:], *["300", "reader"][len(sys.argv) - 1 :]]
    sentences = TEXTS.read_text(encoding="utf-8").splitlines()
    published: dict[str, float] = {}
    program = find_browser()
    assert program, "no Chromium here"
    browser = Browser(program)
    with served() as server:
        for number in range(50):
            server.lines.write(caption(number, sentences[number % len(sentences)], final=True))
        with browser.page(f"{server.address}?view={view}", width=1920, height=1080, before=PAINTED) as page:
            page.until(lambda: len(page.texts) == 50)
            number = 50
            while len(published) < int(count):
                words = sentences[number % len(sentences)].split()
                for end in range(1, len(words) + 1):
                    text = " ".join(words[:end])
                    published[f"{number} {text}"] = 1000 * time.time()
                    server.lines.write(caption(number, text, final=end == len(words)))
                    time.sleep(random.uniform(0.05, 0.15))
                number += 1
            time.sleep(0.5)
            painted: dict[str, float] = page.run("window.painted")
    browser.close()
    times = sorted(painted[key] - published[key] for key in published if key in painted)
    print(
        f"{view}: {len(times)} of {len(published)} captions painted; median {percentile(times, 0.5):.0f} ms, "
        f"p95 {percentile(times, 0.95):.0f} ms, most {times[-1]:.0f} ms; "
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
