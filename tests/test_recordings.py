"""Recordings: each one is whole and of our recogniser, and its script reports errors in one sentence."""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
import sys
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "recordings"


def load_make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recordings_make", FOLDER / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look a class's module up
    spec.loader.exec_module(module)
    return module


make = load_make()
NAMES = sorted(name for name in make.RECORDINGS if "/" not in name)
CONVERSATION = FOLDER / "conversation" / "en-de.jsonl"


def lines_of(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def words(text: str) -> list[str]:
    return re.findall("[a-z']+", text.lower())


def test_there_are_seven_and_no_stray_file() -> None:
    assert len(NAMES) >= 7
    assert {path.name.split(".")[0] for path in FOLDER.iterdir() if path.suffix in (".flac", ".txt", ".jsonl")} == set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_line_has_its_translation(name: str) -> None:
    spoken, translated = lines_of(f"{name}.txt"), lines_of(f"{name}.de.txt")
    assert len(spoken) == len(translated) > 0
    assert all(line and line == line.strip() for line in spoken + translated)


@pytest.mark.parametrize("name", NAMES)
def test_the_transcript_stream_is_of_this_recording_and_our_recogniser(name: str) -> None:
    events = [json.loads(line) for line in lines_of(f"{name}.jsonl")]
    [started] = [event for event in events if event["event"] == "run_started"]
    assert started["signature"]["recogniser"] == "livetrans-recogniser-en"
    finals = [event for event in events if event["event"] == "transcript" and event["final"]]
    assert [event["segment_id"] for event in finals] == list(range(len(finals)))
    heard = words(" ".join(event["committed"] for event in finals))
    written = words(" ".join(lines_of(f"{name}.txt")))
    assert difflib.SequenceMatcher(a=written, b=heard, autojunk=False).ratio() > 0.8


def test_the_conversation_has_each_line_in_its_language_and_translated() -> None:
    events = [json.loads(line) for line in CONVERSATION.read_text(encoding="utf-8").splitlines()]
    finals = [event for event in events if event["event"] == "transcript" and event["final"]]
    turns = [
        (speaker, " ".join(one["committed"] for one in of)) for speaker, of in groupby(finals, itemgetter("track"))
    ]
    written = lines_of("conversation/en-de.txt")
    assert [speaker for speaker, _ in turns] == ["Ana", "Ben"] * (len(written) // 2)
    assert [words(text) for _, text in turns] == [words(line) for line in written]
    captions = [event for event in events if event["event"] == "caption" and event["final"]]
    shown = {(one["segment_id"], one["language"]) for one in captions if one["text"] and not one["untranslated"]}
    assert shown == {(one["segment_id"], "de" if one["track"] == "Ana" else "en") for one in finals}


def test_phrases_lose_no_word_and_pause_as_planned() -> None:
    voice, other = make.Flite("slt"), make.Flite("rms")
    lines = ["Well, yes, I think so.", "Good."]
    plain = make.Recording((voice, other), pause=0.5)
    assert list(make.phrases_of(plain, lines)) == [make.Phrase(voice, lines[0], 0.5), make.Phrase(other, lines[1], 0.5)]
    planned = make.Recording((voice,), pauses=((0.0, 4.0, 1.0), (2.0,)))
    assert [(phrase.text, phrase.silence) for phrase in make.phrases_of(planned, lines)] == [
        ("Well, yes,", 4.0),
        ("I think so.", 1.0),
        ("Good.", 2.0),
    ]


@pytest.mark.parametrize("pauses", [((1.0, 1.0, 1.0),), ((1.0, 1.0), (1.0,)), ((1.0, 1.0, 1.0), (1.0, 1.0))])
def test_a_plan_that_does_not_fit_its_lines_is_refused(pauses: tuple[tuple[float, ...], ...]) -> None:
    recording = make.Recording((make.Flite("slt"),), pauses=pauses)
    with pytest.raises(ValueError, match=r"plans for|commas"):
        list(make.phrases_of(recording, ["Well, yes, I think so.", "Good."]))


def test_a_missing_program_is_reported_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    before = (FOLDER / "talk.flac").stat()
    assert make.main(["talk"]) == 1
    assert (
        capsys.readouterr().err
        == "Not found on the PATH: sox flite; on Debian, `apt install sox flite` installs them.\n"
    )
    assert (FOLDER / "talk.flac").stat() == before
