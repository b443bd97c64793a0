"""The README's commands, in its order, as a new user types them: from an empty home to the subtitles of a session.

The walk is one test, because each command builds on those before it: what was installed, pulled, and recorded.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from livetrans.audio.portaudio import ON_A_MAC
from tests.audio.sound_server import PROGRAMS, SoundServer, write_wav
from tests.journeys.world import ROOT, Terminal, World, demo_sound, python
from tests.models.hub import Hub, serving

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the tree is copied as git lists it")

NOT_WALKED = {
    "livetrans mic --to de --captions-to @zoom.txt": "needs a platform; tests/serve has stand-ins of each",
    "livetrans mic --to de --publish https://captions.example/pub/ROOM": "needs a server; the tests run nginx for it",
    "make demo": "sets up the environment that these tests run in; it is run by hand on a fresh clone",
    "make test": "is what runs this test",
}
"""Commands without a journey, with the reason."""

WHEELS = "https://abetlen.github.io/llama-cpp-python/whl"

Journey = Callable[[World, str], None]
JOURNEYS: list[tuple[str, Journey]] = []
"""Commands of the README in its order, with what is tried of each."""


def readme_commands() -> list[str]:
    """Return the lines of the README's blocks of shell, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    return [" ".join(line.partition(" #")[0].split()) for line in "".join(blocks).splitlines()]


def journey(command: str) -> Callable[[Journey], Journey]:
    """Add what is tried of the next command in the README."""

    def add(function: Journey) -> Journey:
        JOURNEYS.append((command, function))
        return function

    return add


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with serving(Hub()) as hub:
        yield World(tmp_path, hub)


def test_every_command_of_the_readme_has_its_journey() -> None:
    assert [command for command, _ in JOURNEYS] == [line for line in readme_commands() if line not in NOT_WALKED]
    assert not NOT_WALKED.keys() - readme_commands()


@pytest.mark.long
def test_the_readme_from_an_empty_home(world: World) -> None:
    for command, function in JOURNEYS:
        began = time.monotonic()
        function(world, command)
        print(f"{time.monotonic() - began:6.1f} s  {command}")


@journey("python3 -m venv .venv && . .venv/bin/activate")
def make_an_environment(world: World, command: str) -> None:
    world.run(command.replace("python3 ", f"{python()} "))
    world.lend_packages()


@journey(f"pip install -c constraints.txt --extra-index-url {WHEELS}/cpu .")
def install(world: World, command: str) -> None:
    """The address of ready wheels is replaced by an empty folder: the engine is among the packages that are lent."""
    world.run(f".venv/bin/{command}".replace(WHEELS, world.home.as_uri()))
    assert "site-packages" in world.run("python -P -c 'import livetrans; print(livetrans.__file__)'").stdout
    assert "mic" in world.run("livetrans --help").stdout


@journey("livetrans models pull --from en --to de")
def pull(world: World, command: str) -> None:
    done = world.run(command)
    assert "This machine: " in done.stderr and "whisper-small" in done.stderr and "hy-mt2-1.8b" in done.stderr.lower()
    listed = world.run("livetrans models").stdout
    assert "whisper-small" in listed
    world.hub.requests.clear()  # Nothing is fetched twice.
    world.run(command)
    assert not [path for path, _ in world.hub.requests if "/resolve/" in path or "/bytes/" in path]


@journey("livetrans doctor --from en --to de")
def doctor(world: World, command: str) -> None:
    done = world.run(command)
    assert "Stub Microphone" in done.stdout


@journey("livetrans mic --from en --to de")
def listen_in_a_terminal(world: World, command: str) -> None:
    """The first captions; help, pause and calm by keys; the end by `q`."""
    with captioned(world, command) as terminal:
        assert "Stub Microphone" in terminal.text()
        terminal.type("?")
        terminal.wait_for("esc closes")
        terminal.type("\x1b")
        terminal.wait_for(lambda text: "esc closes" not in text)
        terminal.type(" ")
        terminal.wait_for("‖ paused")
        terminal.type(" ")
        terminal.wait_for("● listening")
        terminal.type("a")
        terminal.wait_for("faithful")
    (session,) = sessions(world)
    assert captions(session), "the session has no caption"
    assert session.stat().st_mode & 0o077 == 0
    listen_offline(world, command)


def listen_offline(world: World, command: str) -> None:
    """A second run, with the hub away; suspended by Ctrl+Z and resumed by `fg`."""
    world.environment["HF_ENDPOINT"] = "http://127.0.0.1:9"
    with captioned(world, command) as terminal:
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        time.sleep(3.0)
        terminal.run("fg")
        terminal.wait_for("my brother lives")
    gaps = [event for event in events(sessions(world)[-1]) if event["event"] == "gap"]
    assert gaps and 2.0 < gaps[0]["end"] - gaps[0]["start"] < 30.0


@journey("livetrans listen --from en --to de")
def hear_what_is_played(world: World, command: str) -> None:
    """What plays is captioned; `q` ends. Without a sound server one sentence says what is missing."""
    with played(world, command) as terminal:
        if terminal:
            terminal.wait_for("brother lives")


@journey("livetrans listen --with-mic --from en --me de")
def hear_a_meeting(world: World, command: str) -> None:
    """Both tracks are captioned, each by its name."""
    world.hear(12.0, 18.0)
    with played(world, command) as terminal:
        if terminal:
            terminal.wait_for("brother lives")
            assert re.search(r"\bthem\b", terminal.text())


@journey("livetrans mic --between en,de --names Ana,Ben")
def two_at_one_microphone(world: World, command: str) -> None:
    """Both have their pane, and captions say who spoke."""
    with captioned(world, command) as terminal:
        assert "en ↔ de" in terminal.text() and "Ana:" in terminal.text()
        terminal.type("f")
        terminal.wait_for("until the next pause")
    assert {event["track"] for event in captions(sessions(world)[-1])} & {"Ana", "Ben"}


@journey("livetrans mic --to de --glossary names.tsv")
def keep_names_right(world: World, command: str) -> None:
    """A spelling of the file is repaired, and `e` corrects a name and keeps it there."""
    glossary = world.tree / "names.tsv"
    glossary.write_text("River Thames,=,river\n", encoding="utf-8")
    with captioned(world, command) as terminal:
        terminal.wait_for("River Thames")
        terminal.type("e")
        terminal.wait_for("heard: river")
        terminal.type("\r")
        terminal.wait_for("River Thames = ")
        terminal.type("Rhine\r")
        terminal.wait_for("Rhine from now on")
        terminal.type("\r")
        terminal.wait_for("the Rhine ")
    assert "Rhine" in glossary.read_text(encoding="utf-8")


@journey("livetrans mic --from en --to de --serve")
def serve_captions(world: World, command: str) -> None:
    """A browser on this machine reads along, at the address on the screen."""
    with captioned(world, command) as terminal:
        [address] = set(re.findall(r"http://127\.0\.0\.1:\d+/", terminal.text()))
        with urlopen(address, timeout=10) as page:
            assert b"aria-live" in page.read()
        with urlopen(f"{address}captions", timeout=10) as stream:
            assert b"event: state" in stream.read1(4096)


@journey("livetrans replay recordings/conversation/en-de.jsonl --as-recorded")
def see_a_conversation(world: World, command: str) -> None:
    with world.terminal() as terminal:
        terminal.run(command)
        terminal.wait_for("captions as recorded")
        text = terminal.wait_for("Ben: Good morning!")
        assert "Ana: Guten Morgen" in text and "! " in text
        terminal.type("q")
        terminal.finish()
        assert terminal.exit_code() == 0


@journey("livetrans mic --from en,fr,auto --to de,ar")
def switch_languages(world: World, command: str) -> None:
    with captioned(world, command) as terminal:
        terminal.type("t")
        terminal.wait_for("Arabic")
        terminal.type("f")
        terminal.wait_for("French")


@journey("livetrans replay talk.mp4")
def replay_on_the_screen(world: World, command: str) -> None:
    write_talk(world.tree / "talk.mp4", seconds=6.0)
    with captioned(world, command) as terminal:
        terminal.wait_for("ended")


@journey("livetrans replay talk.mp4 --offline -o talk.srt")
def subtitles_of_a_file(world: World, command: str) -> None:
    world.run(command)
    assert " --> " in (world.tree / "talk.srt").read_text(encoding="utf-8")


@journey("livetrans export last -o talk.srt")
def subtitles_of_a_session(world: World, command: str) -> None:
    refused = world.run(command, code=2).stderr  # the file is there from before
    assert "talk.srt" in refused
    (world.tree / "talk.srt").unlink()
    world.run(command)
    assert " --> " in (world.tree / "talk.srt").read_text(encoding="utf-8")
    for name in ("talk.vtt", "talk.txt", "talk.jsonl"):
        world.run(f"livetrans export last -o {name}")
        assert (world.tree / name).stat().st_size > 0


@journey("livetrans sessions")
def list_sessions(world: World, command: str) -> None:
    listed = world.run(command).stdout
    assert "talk.mp4" in listed and "Stub Microphone" in listed


@journey("livetrans resume last")
def resume_after_a_kill(world: World, command: str) -> None:
    world.hear(3.0, 9.0)
    with world.terminal() as terminal:
        terminal.run("livetrans mic --from en --to de --keep-audio")
        terminal.wait_for("my brother lives")
        os.kill(process_of(world, "livetrans mic"), signal.SIGKILL)
        terminal.wait_for("Killed")
    before = captions(sessions(world)[-1])
    world.run(command)
    after = captions(sessions(world)[-1])
    assert after[: len(before)] == before and after[-1]["final"]
    world.run("livetrans export last -o resumed.txt")
    assert (world.tree / "resumed.txt").stat().st_size > 0


@journey("livetrans models")
def models(world: World, command: str) -> None:
    assert "Hy-MT2-1.8B" in world.run(command).stdout or "hy-mt2-1.8b" in world.run(command).stdout


@contextmanager
def played(world: World, command: str) -> Iterator[Terminal | None]:
    """Run `listen` while a program plays a sentence; None where there is no sound server, which one sentence says."""
    if ON_A_MAC:
        with captioned(world, command) as terminal:
            assert "BlackHole" in terminal.text()
            yield terminal
        return
    refused = world.run(command, code=1).stderr
    if any(shutil.which(program) is None for program in PROGRAMS):
        assert "apt install" in refused
        yield None
        return
    assert "No sound server answers" in refused
    server = SoundServer(Path(tempfile.mkdtemp(dir=world.home.parent)))
    environment = dict(world.environment)
    world.environment |= {name: server.environment[name] for name in ("XDG_RUNTIME_DIR", "PULSE_RUNTIME_PATH")}
    try:
        with world.terminal() as terminal:
            terminal.run(command)
            terminal.wait_for("output (")
            player = server.start_playing(write_wav(world.home / "call.wav", demo_sound(3.0, 9.0)), "Meeting")
            assert "Meeting (playing)" in world.run("livetrans devices").stdout
            yield terminal
            player.wait(60)
            terminal.type("q")
            end = terminal.finish()
            assert "Traceback" not in end and "livetrans export" in end
            assert terminal.exit_code() == 0
    finally:
        server.kill()
        world.environment.clear()
        world.environment |= environment
    assert captions(sessions(world)[-1])


@contextmanager
def captioned(world: World, command: str) -> Iterator[Terminal]:
    """Run a command until its first caption; at the end `q` leaves it, with exit code 0 and the command to export."""
    world.hear(3.0, 9.0)
    with world.terminal() as terminal:
        terminal.run(command)
        terminal.wait_for("my brother lives")
        yield terminal
        terminal.type("q")
        end = terminal.finish()
        assert "Traceback" not in end and "livetrans export" in end
        assert terminal.exit_code() == 0


def sessions(world: World) -> list[Path]:
    """Return the folders of the sessions, the oldest first."""
    path = Path(world.run("livetrans sessions path").stdout.strip())
    folder = path if path.name == "sessions" else path.parent
    return sorted(folder.iterdir(), key=lambda session: (session / "events.jsonl").stat().st_mtime)


def events(session: Path) -> list[dict[str, object]]:
    lines = (session / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def captions(session: Path) -> list[dict[str, object]]:
    return [event for event in events(session) if event["event"] == "caption"]


def process_of(world: World, command: str) -> int:
    """Return the process that runs this command in the user's tree."""
    import psutil

    found = [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if str(world.tree) in " ".join(process.info["cmdline"] or ()) and command.split()[1] in process.info["cmdline"]
    ]
    return min(found)


def write_talk(path: Path, seconds: float) -> None:
    """Write the demo's second sentence as an mp4 with a picture, as a phone records one."""
    import av

    samples = demo_sound(3.0, 3.0 + seconds)
    with av.open(str(path), "w") as container:
        audio = container.add_stream("aac", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = 16_000
        for packet in (*audio.encode(frame), *audio.encode(None)):
            container.mux(packet)
