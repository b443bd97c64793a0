"""Makes docs/page.png: the screen of a real replay of the demo, and beside it the page on a phone at the same moment.

PYTHONPATH=. python docs/make_page.py [SECONDS] [OUTPUT.png]    (needs Chromium, and Pillow of the extra `bench`)
"""

from __future__ import annotations

import asyncio
import base64
import io
import sys
import tempfile
from pathlib import Path

from make_screen import pictured
from PIL import Image

from livetrans.serve.address import parse_serve_address
from livetrans.serve.server import CaptionServer
from tests.serve.browser import Browser, find_browser

BESIDE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; height: 100vh; background: #e9ebee }}
body {{ display: flex; gap: 24px; align-items: center; justify-content: center }}
#screen {{ width: 1000px; filter: drop-shadow(0 2px 8px #0006) }}
#phone {{ height: 560px; border: 7px solid #22252a; border-radius: 26px }}
</style>
<img id="screen" src="data:image/svg+xml;base64,{screen}"><img id="phone" src="data:image/png;base64,{phone}">"""


PHONE = "delete window.documentPictureInPicture;"
"""Browsers of phones have no windows that stay on top."""


async def main(seconds: float, output: Path) -> None:
    program = find_browser()
    if program is None:
        sys.exit("make_page: no Chromium was found; install it, as in .ci/run")
    browser = Browser(program)
    server = CaptionServer(parse_serve_address("localhost"))
    server.start()
    with browser.page(f"{server.address}?theme=light", width=360, height=740, before=PHONE) as page:
        async with pictured(seconds, (100, 30), server) as screen:
            phone = page.picture()
    server.stop()
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder) / "beside.html"
        images = {"screen": base64.b64encode(screen.encode()), "phone": base64.b64encode(phone)}
        beside.write_text(BESIDE.format(**{name: data.decode() for name, data in images.items()}), encoding="utf-8")
        with browser.page(beside.as_uri(), width=1360, height=650) as page:
            picture = Image.open(io.BytesIO(page.picture()))
    browser.close()
    picture.convert("RGB").quantize(128, method=Image.Quantize.MAXCOVERAGE).save(output, optimize=True)


if __name__ == "__main__":
    words = [*sys.argv[1:], *("27", "docs/page.png")[len(sys.argv) - 1 :]]
    asyncio.run(main(float(words[0]), Path(words[1])))
