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
    try:
        opened.call("Browser.getVersion")
    except (AssertionError, OSError) as fault:  # Its sandbox needs what some containers do not allow.
        opened.close()
        pytest.skip(f"{program} does not start here: {fault}")
    yield opened
    opened.close()
