"""One browser for all tests of the page, and both ways to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from livetrans.serve import hub
from livetrans.serve.hub import HubPublisher
from livetrans.serve.lines import SharedLines

from .browser import Browser, Outlet, find_browser
from .nginx import SECRET, running_hub
from .reader import served


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


@pytest.fixture(params=["--serve", "--publish"])
def outlet(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Outlet]:
    """What gives captions to the page: a run's own server, or a hub."""
    if request.param == "--serve":
        with served() as server:
            yield server
        return
    monkeypatch.setenv(hub.SECRET, SECRET)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with running_hub() as nginx:
        publisher = HubPublisher(nginx.address("room"), SharedLines(), print)
        publisher.start()
        yield publisher
        publisher.stop()
