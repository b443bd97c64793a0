"""Makes docs/views.png: the page at the sizes of its tests, on phones, a laptop and a projector, light and dark.

PYTHONPATH=. python docs/make_views.py [OUTPUT.png]    (needs Chromium, and Pillow of the extra `bench`)
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from livetrans.serve.address import parse_serve_address
from livetrans.serve.server import CaptionServer
from tests.serve.browser import Browser, find_browser
from tests.serve.views import VIEWS, browser_of, show

ROWS = (
    (
        ("phone", "light", ""),
        ("phone with big type", "dark", ""),
        ("Arabic", "light", ""),
        ("Japanese", "dark", ""),
        ("conversation on a phone", "light", ""),
        ("phone", "dark", "document.getElementById('aa').click()"),
    ),
    (("conversation", "dark", ""), ("laptop with two languages", "light", ""), ("projector", "dark", "")),
)
"""Names of pictures, colours, and what is done before: rows of pictures of one height."""
WIDTH, GAP = 1500, 12


def picture(browser: Browser, name: str, theme: str, script: str) -> Image.Image:
    (width, height), query = VIEWS[name]
    server = CaptionServer(parse_serve_address("localhost"))
    server.start()
    before = "delete window.documentPictureInPicture;" + browser_of("ar" if name.startswith("Arabic") else "de")
    with browser.page(f"{server.address}{query}&theme={theme}", width=width, height=height, before=before) as page:
        show(server, name)
        page.until(lambda: len(page.texts) >= 6)
        page.run(script)
        page.run("new Promise((done) => setTimeout(done, 1500))")
        taken = Image.open(io.BytesIO(page.picture())).convert("RGB")
    server.stop()
    return taken


def main(output: Path) -> None:
    program = find_browser()
    if program is None:
        sys.exit("make_views: no Chromium was found; install it, as in .ci/run")
    browser = Browser(program)
    rows = []
    for row in ROWS:
        taken = [picture(browser, *view) for view in row]
        height = round((WIDTH - GAP * (len(row) + 1)) / sum(one.width / one.height for one in taken))
        rows.append([one.resize((round(one.width * height / one.height), height), Image.LANCZOS) for one in taken])
    browser.close()
    whole = Image.new("RGB", (WIDTH, GAP + sum(row[0].height + GAP for row in rows)), (200, 204, 210))
    top = GAP
    for views in rows:
        left = GAP
        for view in views:
            whole.paste(view, (left, top))
            left += view.width + GAP
        top += views[0].height + GAP
    whole.quantize(128, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(output, optimize=True)


if __name__ == "__main__":
    main(Path([*sys.argv[1:], "docs/views.png"][0]))
