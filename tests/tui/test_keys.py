"""What the keys do to the settings of a run, and what each says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.base.errors import SessionError
from livetrans.config import RECORDED_METHOD, BetweenSettings, DecodingSettings, MaskSettings, Settings
from livetrans.tui import keys
from tests.tui.scripted import ScriptedRun


def run_with(settings: Settings) -> ScriptedRun:
    run = ScriptedRun()
    run.settings = settings
    return run


def test_mask_and_bias_stay_within_their_range() -> None:
    run = run_with(Settings(decoding=DecodingSettings(bias=0.43), mask=MaskSettings(k=1)))
    for step in (-1, -1, 1):
        keys.move(run, "mask-k", step)
    says = [keys.move(run, "bias", 0.05 * step) for step in (1, 1, 1, -1)]
    assert run.calls == [("mask-k", 0), ("mask-k", 0), ("mask-k", 1), ("bias", 0.48), ("bias", 0.5), ("bias", 0.45)]
    assert ["more changes nothing" in sentence for sentence in says] == [False, False, True, False]
    run = run_with(Settings(decoding=DecodingSettings(bias=0.03)))
    keys.move(run, "bias", -0.05)
    assert run.calls == [("bias", 0.0)]


def test_the_calm_settings_come_in_turn_and_only_for_their_method() -> None:
    run = run_with(Settings())
    keys.next_calm(run)
    keys.next_calm(run)
    assert run.calls == [("calm", "faithful"), ("calm", "still")]
    keys.move(run, "bias", 0.05)
    keys.next_calm(run)
    assert run.calls[-1] == ("calm", "still")
    run = run_with(Settings(decoding=DecodingSettings("rt")))
    assert "calm has no effect with --method rt" in keys.next_calm(run)
    assert keys.move(run, "bias", 0.05) == "bias has no effect with --method rt"
    assert run.calls == []


def test_languages_come_in_turn_and_a_detected_one_first() -> None:
    run = run_with(Settings(sources=("auto", "en"), targets=("de", "ar")))
    assert keys.languages_of(run.settings, None) == "auto → de (t: ar)"
    assert keys.languages_of(replace(run.settings, targets=("de",)), "fr") == "auto (French) → de"
    for _ in range(3):
        keys.next_spoken(run, "fr")
    assert "captions in Arabic" in keys.next_target(run)
    assert run.calls == [("from", "fr"), ("from", "en"), ("from", "auto"), ("to", "ar")]


def test_one_language_leaves_nothing_to_switch() -> None:
    run = run_with(replace(Settings(), sources=("en",), targets=("de",)))
    assert "--to de,fr" in keys.next_target(run)
    assert "--from en,fr" in keys.next_spoken(run, None)
    assert run.calls == []


def test_keys_say_that_they_change_nothing_of_captions_that_are_shown_as_they_were_recorded() -> None:
    between = BetweenSettings(("en", "de"), ("Ana", "Ben"))
    settings = Settings(None, sources=("en", "de"), targets=("en", "de"), between=between)
    run = run_with(replace(settings, decoding=DecodingSettings(RECORDED_METHOD)))
    nothing = "has no effect on captions as they were recorded"
    assert keys.next_calm(run) == f"calm {nothing}"
    assert keys.move(run, "mask-k", 1) == f"mask-k {nothing}"
    assert keys.next_spoken(run, None) == "each turn has the language that was recorded"
    assert run.calls == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (PermissionError(13, "Permission denied"), "cannot be written (Permission denied): `livetrans export`"),
        (SessionError("there is no finished caption yet"), "nothing was saved: there is no finished caption yet"),
    ],
)
def test_saving_says_why_not(fault: Exception, reason: str) -> None:
    def refuse() -> Path:
        raise fault

    sentence = keys.save_transcript(refuse, is_growing=False)
    assert reason in sentence


@pytest.mark.parametrize(
    ("environment", "platform", "command"),
    [
        ({}, "darwin", "pbcopy"),
        ({"SSH_CONNECTION": "1"}, "darwin", None),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", "wl-copy"),
        ({"DISPLAY": ":0"}, "linux", "xclip"),
        ({}, "linux", None),
    ],
)
def test_the_program_of_the_desktop(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], platform: str, command: str | None
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    found = keys.clipboard_program(environment, platform)
    assert (found and found[0]) == command
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert keys.clipboard_program(environment, platform) is None


@pytest.mark.parametrize(("script", "says"), [("cat > {}", "copied"), ("exit 1", "sent to the terminal")])
def test_what_is_said_is_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    target, sent = tmp_path / "clipboard", []
    command = ["sh", "-c", script.format(target)]
    monkeypatch.setattr(keys, "clipboard_program", lambda: command)
    assert says in keys.copy_text("Grüße", "last caption", sent.append)
    assert (target.read_text() if target.exists() else sent[0]) == "Grüße"
