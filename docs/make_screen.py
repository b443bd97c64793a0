"""Makes docs/screen.svg: the screen in a real replay of the demo, headless, at a caption that grows.

python docs/make_screen.py [SECONDS] [COLUMNSxROWS] [OUTPUT.svg]
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from livetrans.audio.file import AudioFile
from livetrans.base.clock import SystemClock
from livetrans.config import Settings, TranscriberSettings
from livetrans.events import Caption, Record
from livetrans.metrics.captions import standing
from livetrans.models.chosen import choose_models
from livetrans.run.listening import Listening, OnAudio
from livetrans.run.opening import open_audio, open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
from livetrans.serve.server import CaptionServer
from livetrans.session.sinks import Sink
from livetrans.tui.app import LivetransApp

DEMO = Path(__file__).parents[1] / "recordings" / "demo.flac"


class Latest:
    """Watches for a caption that is worth a picture: unfinished, partly shown before, partly new."""

    def __init__(self) -> None:
        self._caption: Caption | None = None
        self._before = ""

    def write(self, record: Record) -> None:
        if isinstance(record.event, Caption):
            is_same = self._caption and self._caption.segment_id == record.event.segment_id
            self._before = self._caption.text if self._caption and is_same else ""
            self._caption = record.event

    def close(self) -> None: ...

    def is_half_new(self) -> bool:
        caption = self._caption
        if caption is None or caption.final:
            return False
        return 8 < standing(self._before, caption.text) < len(caption.text) - 5


@asynccontextmanager
async def pictured(seconds: float, size: tuple[int, int], server: CaptionServer | None = None) -> AsyncIterator[str]:
    """A replay of the demo at such a caption after so many seconds, as a picture of the screen (SVG)."""
    clock = SystemClock()
    settings = choose_models(Settings(transcriber=TranscriberSettings(trim_after=6.0)))

    def open_listening(publish: Publish, on_audio: OnAudio) -> Listening:
        return open_audio(AudioFile(DEMO, clock, real_time=True), settings, clock, publish, on_audio)

    latest = Latest()
    sinks: list[Sink] = [latest, *([server.lines] if server else [])]
    pipeline = Pipeline(settings, open_listening, partial(open_translating, settings, clock), clock, sinks)
    app = LivetransApp(pipeline, pipeline.monitor.snapshot, DEMO.name, server=server)
    async with app.run_test(size=size) as pilot:
        await asyncio.sleep(seconds)
        picture = ""
        while not (picture and latest.is_half_new()):  # Still, after the picture was drawn.
            await asyncio.sleep(0.02)
            if latest.is_half_new():
                await pilot.pause()
                picture = app.export_screenshot()
        # Textual's picture loads its font from the network; whatever monospaced font is here does as well.
        yield re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    pipeline.stop()
    pipeline.join(timeout=5.0)


async def main(seconds: float, size: tuple[int, int], output: Path) -> None:
    async with pictured(seconds, size) as picture:
        output.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    words = [*sys.argv[1:], *("27", "110x30", "docs/screen.svg")[len(sys.argv) - 1 :]]
    columns, rows = map(int, words[1].split("x"))
    asyncio.run(main(float(words[0]), (columns, rows), Path(words[2])))
