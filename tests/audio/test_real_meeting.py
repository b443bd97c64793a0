"""`listen --with-mic` on a real sound server: who spoke, and no word of the loudspeaker twice."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from livetrans.audio.portaudio import ON_A_MAC
from livetrans.events import SAMPLE_RATE
from livetrans.session.export import export, read_captions

from .rooms import as_samples, bleed, microphone, recording
from .sound_server import Listener, SoundServer, plain, write_wav

pytestmark = [pytest.mark.long, pytest.mark.skipif(ON_A_MAC, reason="a Mac has no such server")]

SECONDS = 40
TEXTS = Path(__file__).parents[2] / "recordings"


def test_the_outputs_own_monitor_is_no_microphone(tmp_path: Path) -> None:
    server = SoundServer(tmp_path)
    try:
        server.control("set-default-source", "speaker.monitor")
        code, _, errors = Listener(server, tmp_path, "--with-mic", "--me", "en", command="listen").stop()
    finally:
        server.kill()
    assert code == 2 and "heard twice" in errors


def test_two_people_who_speak_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    """The microphone hears the user and, 12 dB weaker and through a room, the loudspeaker."""
    played, own = recording("dialogue")[: SECONDS * SAMPLE_RATE], recording("numbers")[: 20 * SAMPLE_RATE]
    heard = as_samples(bleed(played, -12, 0.04) + microphone(len(played), own=own, at=10 * SAMPLE_RATE))
    files = {"speaker": write_wav(tmp_path / "them.wav", played), "headset": write_wav(tmp_path / "me.wav", heard)}
    server = SoundServer(tmp_path)
    try:
        server.control("set-default-source", "headset.monitor")
        options = ["--with-mic", "--me", "en", "--names", "Ana,Zoom", "--keep-audio"]
        listener = Listener(server, tmp_path, *options, command="listen")
        time.sleep(2.0)
        players = [
            subprocess.Popen(["paplay", "--device", sink, str(file)], env=server.environment)
            for sink, file in files.items()
        ]
        for player in players:
            assert player.wait(SECONDS + 60) == 0
        time.sleep(5.0)
        code, output, errors = listener.stop()
    finally:
        server.kill()
    assert code == 0, errors
    by_track: dict[str, list[str]] = {"Ana": [], "Zoom": []}
    for caption in listener.events("caption"):
        if caption["final"] and caption["text"]:
            by_track[caption["track"]] += plain(caption["source"]).split()
    print({track: " ".join(words) for track, words in by_track.items()})
    spoken = {
        name: set(plain((TEXTS / f"{name}.txt").read_text(encoding="utf-8")).split())
        for name in ("numbers", "dialogue")
    }
    for track, text, other in (("Ana", "numbers", "dialogue"), ("Zoom", "dialogue", "numbers")):
        right = [word in spoken[text] for word in by_track[track]]
        strange = [word in spoken[other] - spoken[text] for word in by_track[track]]
        assert sum(right) > 30
        # Bleed is judged in tests/run/test_meeting_sound.py: each null sink renders up to 2 s ahead on its own, so that
        # here the loudspeaker's sound may reach the microphone later, or earlier, than any room lets it.
        if track == "Zoom":
            assert sum(right) > 0.8 * len(right)
            assert sum(strange) <= 0.05 * len(strange)
    assert {line.split(":")[0] for line in output.splitlines() if line} == {"> Ana", "Zoom"}
    assert all(
        (listener.session / name).stat().st_size > SECONDS * SAMPLE_RATE for name in ("audio.wav", "microphone.wav")
    )
    assert "<v Ana>" in "".join(export(read_captions(listener.session), "vtt"))
