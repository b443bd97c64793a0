"""One browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .browser import Browser, find_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    opened = Browser(program)
    yield opened
    opened.close()
