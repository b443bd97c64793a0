"""`livetrans listen` as a newcomer types it: with a sound server, a rehearsed Mac's loopback device, or neither."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from livetrans.audio.portaudio import ON_A_MAC
from tests.audio.sound_server import PROGRAMS, SoundServer
from tests.audio.test_real_playback import write
from tests.journeys.test_readme import captioned, captions, sessions
from tests.journeys.world import ROOT, World, demo_sound, python
from tests.models.hub import Hub, serving

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the tree is copied as git lists it"),
]


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[World]:
    with serving(Hub()) as hub:
        world = World(tmp_path, hub)
        world.run(f"{python()} -m venv .venv")
        world.lend_packages()
        world.run(".venv/bin/pip install -c constraints.txt .")
        world.run("livetrans models pull small --from en --to de")
        yield world


def hear_what_is_played(world: World, command: str) -> None:
    """What plays is captioned; `q` ends. Without a sound server one sentence says what is missing."""
    if ON_A_MAC:
        with captioned(world, command) as terminal:
            assert "BlackHole" in terminal.text()
        assert captions(sessions(world)[-1])
        return
    refused = world.run(command, code=1).stderr
    if any(shutil.which(program) is None for program in PROGRAMS):
        assert "apt install" in refused
        return
    assert "No sound server answers" in refused
    server = SoundServer(world.home.parent)
    world.environment |= {name: server.environment[name] for name in ("XDG_RUNTIME_DIR", "PULSE_RUNTIME_PATH")}
    try:
        with world.terminal() as terminal:
            terminal.run(command)
            terminal.wait_for("output (")
            player = server.start_playing(write(world.home / "call.wav", demo_sound(3.0, 9.0)), "Meeting")
            assert "Meeting (playing)" in world.run("livetrans devices").stdout
            terminal.wait_for("brother lives")
            player.wait(60)
            terminal.type("q")
            end = terminal.finish()
            assert "Traceback" not in end and "livetrans export" in end
            assert terminal.exit_code() == 0
    finally:
        server.kill()
    assert captions(sessions(world)[-1])


def test_what_the_computer_plays_from_an_empty_home(newcomer: World) -> None:
    hear_what_is_played(newcomer, "livetrans listen --from en --to de")
