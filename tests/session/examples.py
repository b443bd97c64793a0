"""One of each event with every field set, and a short session made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livetrans.config import DecodingSettings, Settings, Term
from livetrans.events import (
    BackPressure,
    Caption,
    Coalesced,
    Comparison,
    DecodingStats,
    Event,
    Gap,
    GlossaryRead,
    NameCorrected,
    Notice,
    Origin,
    RecognitionStats,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Span,
    Transcript,
    Translation,
)
from livetrans.session.codec import to_line

STATS = DecodingStats(
    prompt_tokens=31,
    reused_tokens=24,
    draft_tokens=5,
    accepted_tokens=4,
    output_tokens=8,
    forward_passes=5,
    decoding_steps=4,
    truncated=False,
    prompt_seconds=0.0,
    verification_seconds=0.0421,
    decoding_seconds=0.0912,
)

TRANSCRIPT = Transcript(
    0, 1, "Good morning", "and welcome", False, 0.31, 1.2, 3.3182, RecognitionStats(1.2, 0.31), "en", "them"
)

EVENTS: tuple[Event, ...] = (
    Notice("info", "Loading the translator."),
    RunStarted(
        {"translator": "model.gguf", "cores": 4},
        Settings(None, decoding=DecodingSettings("ssbd")),
        Origin("talk.mp4", "/home/ana/talk.mp4", 73_400_320, 1795305600.25),
        1795309215.120331,
    ),
    SourceProgress(1.0, 12.5, True, 0.08, 0.0, 1, 0.31, "them"),
    TRANSCRIPT,
    Coalesced(0, 0),
    Translation(TRANSCRIPT, "Guten Morgen und", (17, 4, 9), STATS, "ssbd", (Span(0, 1),), language="de"),
    Caption(TRANSCRIPT, "Guten Morgen", (17, 4), 1, language="de"),
    GlossaryRead((Term("OpenRouter", "OpenRouter", (("open router", ""),)),)),
    NameCorrected("shiv on", "shiv on", "Siobhan"),
    SettingChanged("mask-k", 2),
    BackPressure("finals first", 12.4),
    Comparison(0, 7, 0.412, 1.108, 1, 14, 19, 14),
    RunEnded(12.5, "end of source", 7, 2.689, 0.071, 1.357, 0.083, 2.514),
    Gap(6.24, 18.3, "microphone", "me"),
)


def caption(
    segment_id: int,
    text: str,
    *,
    revision: int = 0,
    final: bool = True,
    source: str = "said",
    start: float = 0.0,
    end: float = 1.0,
) -> Caption:
    return Caption(Transcript(segment_id, revision, "", source, final, start, end), text, (1,))


def transcript(segment_id: int, revision: int, committed: str, partial: str = "", *, final: bool = False) -> Transcript:
    return Transcript(segment_id, revision, committed, partial, final, 0.5 * segment_id, 1.0 + revision)


def write_session(path: Path, *events: Event, step: float = 1.0) -> Path:
    """A session file of the events, one every `step` seconds."""
    lines = (to_line(Record(index * step, event)) + "\n" for index, event in enumerate(events))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def without_times(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a line without everything measured, at every depth: what two runs over one input have in common."""
    return {
        key: without_times(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if not is_time(key)
    }


def is_time(name: str) -> bool:
    """Whether a field of this name is measured time or a ratio of such; `start`, `end`, `heard` are not."""
    return name in ("at", "speedup", "speedup_estimate") or name.endswith(("_at", "_seconds"))
