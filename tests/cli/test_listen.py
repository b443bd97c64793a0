"""`listen --with-mic`: which languages the two tracks have, and options that make no sense together."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from livetrans.cli import run
from livetrans.config import Settings, after_key
from livetrans.models.chosen import languages_of


def settings_of(options: list[str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return what `listen` would run with."""
    found: list[Settings] = []
    for source in ("livetrans.audio.live.Playback", "livetrans.audio.live.Microphone"):
        monkeypatch.setattr(source, lambda *_: Mock(hears_output=lambda output: False))
    monkeypatch.setattr("livetrans.cli.live.run_captured", lambda sources, settings, *_, **__: found.append(settings))
    assert run(["listen", *options]) == 0
    return found[0]


@pytest.mark.parametrize(
    ("options", "theirs", "mine"),
    [
        ("--from en --me de", ("en", "de"), ("de", "en")),
        ("--from en --to de", ("en", "de"), ("de", "en")),
        ("--from de --me en", ("de", "en"), ("en", "de")),
        ("--from en --me fr --to de", ("en", "de"), ("fr", "en")),
        ("--from en --me de --me-to none", ("en", "de"), ("de", "de")),
        ("--from en --me en", ("en", "de"), ("en", "en")),
        ("--from auto --me de", ("auto", "de"), ("de", "de")),
        ("--from auto --me de --me-to fr", ("auto", "de"), ("de", "fr")),
    ],
)
def test_what_the_others_say_is_translated_for_me_and_what_i_say_for_them(
    options: str, theirs: tuple[str, str], mine: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(["--with-mic", *options.split()], monkeypatch)
    assert (settings.source_language, settings.target_language) == theirs
    assert (settings.for_microphone().source_language, settings.for_microphone().target_language) == mine
    assert settings.meeting is not None and settings.meeting.names == ("me", "them")
    directions = [track for track in (theirs, mine) if track[0] != track[1]]
    assert languages_of(settings).directions == tuple(directions)


def test_the_users_language_in_the_configuration_file_is_for_runs_with_the_microphone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('me = "fr"\n')
    assert settings_of(["--config", str(config)], monkeypatch).targets == ("de",)
    assert settings_of(["--config", str(config), "--with-mic"], monkeypatch).targets == ("fr",)


@pytest.mark.parametrize(("key", "value"), [("to", "fr"), ("from", "es")])
def test_a_key_leaves_the_languages_of_what_i_say(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(["--with-mic", "--from", "en,es", "--to", "de,fr"], monkeypatch)
    mine = after_key(settings, key, value).for_microphone()
    assert (mine.sources, mine.targets) == (("de",), ("en",))


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--me", "de"], "add --with-mic"),
        (["--names", "a,b"], "add --with-mic"),
        (["--device", "1"], "add --with-mic"),
        (["--with-mic", "--names", "a"], "two different names"),
        (["--with-mic", "--names", "a,a"], "two different names"),
        (["--with-mic", "--names", "a,\x1b[2J"], "two different names"),
        (["--with-mic", "--me", "xx"], "xx"),
        (["--app", " "], "--app needs a part of a program's name"),
    ],
)
def test_options_without_sense_are_refused_in_one_sentence(
    options: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["listen", *options]) == 2
    error = capsys.readouterr().err
    assert advice in error
    assert error.count("\n") == 1
