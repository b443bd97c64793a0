"""The monitor: what the side panel shows after which events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livetrans.config import CALM, DecodingSettings, MaskSettings, Settings
from livetrans.events import (
    Caption,
    Coalesced,
    DecodingStats,
    Event,
    Gap,
    Origin,
    RecognitionStats,
    Record,
    RunEnded,
    RunStarted,
    SettingChanged,
    SourceProgress,
    Transcript,
    Translation,
)
from livetrans.metrics.monitor import Monitor, Snapshot, resident_memory


def translation(segment_id: int, tokens: tuple[int, ...], *, final: bool, stats: DecodingStats | None = None) -> Event:
    transcript = Transcript(segment_id, 0, "", "s", final, 0.0, 1.0)
    return Translation(transcript, "t", tokens, stats or DecodingStats())


def caption(segment_id: int, tokens: tuple[int, ...], *, final: bool, captured_at: float | None = None) -> Event:
    return Caption(Transcript(segment_id, 0, "", "s", final, 0.0, 1.0, captured_at), "t", tokens)


def transcript(pass_seconds: float) -> Event:
    return Transcript(0, 0, "", "a", False, 0.0, 1.0, None, RecognitionStats(2.0, pass_seconds))


def watch(*events: Event, at: float = 10.0) -> Snapshot:
    monitor = Monitor(memory=lambda: 42)
    for event in events:
        monitor.write(Record(at, event))
    monitor.close()
    return monitor.snapshot()


def test_nothing_measured_is_none_and_not_zero() -> None:
    assert watch() == Snapshot(memory_bytes=42)


def test_raw_and_shown_erasure_are_kept_apart() -> None:
    shown = watch(
        translation(0, (1, 2, 3), final=False),
        caption(0, (1,), final=False),
        translation(0, (1, 4, 5, 6), final=True),
        caption(0, (1, 4, 5, 6), final=True),
    )
    assert (shown.ne_raw, shown.ne_shown) == (pytest.approx(0.5), 0.0)
    assert (shown.segments, shown.updates) == (1, 2)


def test_decoding_counts_become_rates() -> None:
    stats = DecodingStats(
        draft_tokens=4, accepted_tokens=3, output_tokens=6, verification_seconds=1.0, decoding_seconds=2.0
    )
    shown = watch(translation(0, (1,), final=False, stats=stats))
    assert (shown.accepted_per_draft, shown.accepted_per_output, shown.tokens_per_second) == (0.75, 0.5, 2.0)


def test_lag_needs_an_instant_of_hearing() -> None:
    shown = watch(
        caption(0, (), final=True, captured_at=9.0),
        caption(1, (), final=True, captured_at=7.0),
        caption(2, (), final=True),
    )
    assert (shown.lag_median, shown.lag_p95) == (1.0, 3.0)


def test_lag_is_apart_for_growing_captions_and_finals() -> None:
    shown = watch(
        caption(0, (1,), final=False, captured_at=9.0),
        caption(0, (1,), final=True, captured_at=9.0),
        caption(1, (1,), final=True, captured_at=6.0),
        caption(2, (1,), final=False, captured_at=8.0),
    )
    assert (shown.lag_growing, shown.lag_finals, shown.delay) == (1.0, 4.0, 2.0)
    assert watch(caption(0, (1,), final=False)).delay is None


def test_a_pause_is_shown_until_it_ends() -> None:
    assert watch(SettingChanged("paused", True)).paused
    assert not watch(SettingChanged("paused", True), SettingChanged("paused", False)).paused
    assert not watch(SettingChanged("paused", True), RunEnded(9.0, "stopped")).paused


def test_calm_is_counted_as_the_viewer_sees_it() -> None:
    def shows(text: str, hidden: int) -> Event:
        return Caption(Transcript(0, 0, "", "s", False, 0.0, 1.0), text, masked_tokens=hidden)

    shown = watch(shows("eins zwei", 3), shows("eins drei vier", 2), SourceProgress(30.0, None, True))
    assert (shown.ne_screen, shown.changes_per_minute, shown.hidden_tokens) == (1 / 3, 2.0, 2.5)


def test_a_calm_setting_sets_the_others_and_one_of_them_makes_it_the_listeners_own() -> None:
    shown = watch(SettingChanged("calm", "faithful")).settings
    assert (shown.calm, shown.decoding.bias) == ("faithful", CALM["faithful"].decoding.bias)
    assert watch(SettingChanged("calm", "still"), SettingChanged("bias", 0.3)).settings.calm is None
    ssbd = RunStarted({}, Settings(decoding=DecodingSettings("ssbd")))
    shown = watch(ssbd, SettingChanged("calm", "still")).settings
    assert (shown.calm, shown.decoding.method) == (None, "ssbd")


def test_recognition_time_is_related_to_the_sound_heard() -> None:
    shown = watch(transcript(0.5), transcript(1.5), SourceProgress(8.0, 20.0, True, 0.25, 0.5, 2, 2.0))
    assert (shown.real_time_factor, shown.pass_seconds_last) == (0.25, 1.5)
    part = RunStarted({}, origin=Origin("talk.mp4", start=600.0))
    assert watch(part, SourceProgress(608.0, 2000.0, True, 0.25, 0.5, 2, 2.0)).real_time_factor == 0.25
    assert (shown.heard, shown.total, shown.speaking, shown.level) == (8.0, 20.0, True, 0.25)


def test_the_end_closes_the_gate() -> None:
    shown = watch(SourceProgress(8.0, None, True, 0.25), RunEnded(9.0, "stopped"))
    assert (shown.heard, shown.speaking, shown.level) == (9.0, False, 0.0)


def test_settings_follow_the_run_and_then_the_listener() -> None:
    settings = Settings(decoding=DecodingSettings("cd", bias=0.5), mask=MaskSettings("output", 4))
    assert watch(RunStarted({}, settings)).settings == settings
    shown = watch(RunStarted({}, settings), SettingChanged("mask-k", 5), SettingChanged("bias", 0))
    assert (shown.settings.decoding, shown.settings.mask) == (DecodingSettings("cd", bias=0), MaskSettings("output", 5))


def test_time_without_sound_is_in_no_rate() -> None:
    """A microphone's source time goes on in a pause, and while the device or the machine is away."""

    def heard(seconds: float, recognition: float) -> Event:
        return SourceProgress(seconds, None, True, recognition_seconds=recognition)

    taken_back = [Caption(Transcript(0, n, "", "s", False, 0.0, 1.0), text) for n, text in enumerate(["eins", "zwei"])]
    gap = Gap(4.0, 3604.0, "paused")
    shown = watch(heard(4.0, 3.6), *taken_back, gap, heard(3604.0, 3.6), heard(3608.0, 7.2))
    assert (shown.real_time_factor, shown.changes_per_minute) == (pytest.approx(0.9), pytest.approx(7.5))


def test_coalesced_updates_are_counted() -> None:
    assert watch(Coalesced(0, 1), Coalesced(0, 2)).coalesced_updates == 2


def test_figures_of_one_language_are_those_of_a_run_into_it_alone() -> None:
    settings = Settings(targets=("de", "fr"))
    outputs = {"de": [(1,), (1, 2, 3), (1, 2, 4)], "fr": [(5, 6), (7, 8, 9), (7, 8, 9, 6)]}
    events: list[Event] = [RunStarted({}, settings)]
    for segment_id in range(3):
        for revision in range(3):
            for code, tokens in outputs.items():
                translated = translation(segment_id, tokens[revision], final=revision == 2)
                shown = caption(segment_id, tokens[revision][:2], final=revision == 2, captured_at=5.0 + revision)
                events += [replace(translated, language=code), replace(shown, language=code)]  # type: ignore[type-var]
    both = Monitor(memory=lambda: None)
    for number, event in enumerate(events):
        both.write(Record(10.0 + number // 4, event))
    for code in outputs:
        alone = Monitor(memory=lambda: None)
        for number, event in enumerate(events):
            if getattr(event, "language", code) == code:
                alone.write(Record(10.0 + number // 4, event))
        assert both.snapshot(code) == alone.snapshot(code)
    assert both.snapshot() == both.snapshot("de") != both.snapshot("fr")
    both.write(Record(99.0, SettingChanged("to", "fr")))
    assert both.snapshot().ne_raw == both.snapshot("fr").ne_raw


def test_resident_memory_is_that_of_a_python() -> None:
    memory = resident_memory()
    assert memory is not None and memory > 1_000_000
