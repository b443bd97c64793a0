"""Pictures of the screen; `pytest --snapshot-update` draws them anew after a wanted change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from livetrans.config import THEMES, OutputSettings, Settings
from livetrans.events import Event, Notice
from livetrans.metrics.monitor import Snapshot
from livetrans.tui.app import LivetransApp
from tests.tui.scripted import FULL, Screenplay, caption, conversation, ended, make_app, settle, started

Compare = Callable[..., bool]
PICTURES = Path(__file__).parent / "__snapshots__"


def test_every_stored_picture_has_text() -> None:
    """A screen that fails to start is stored as an empty one, and then equals itself."""
    pictures = {path.name: path.read_text(encoding="utf-8").count("<text") for path in PICTURES.rglob("*.svg")}
    assert len(pictures) > 15 and [name for name, texts in pictures.items() if texts < 10] == []


def sizes(fast: tuple[int, int], *others: tuple[int, int]) -> list[object]:
    """Return sizes of the terminal, of which the fast command draws one."""
    return [pytest.param(fast, id="{}x{}".format(*fast))] + [
        pytest.param(size, id="{}x{}".format(*size), marks=pytest.mark.long) for size in others
    ]


def still(*events: Event, snapshot: Snapshot = FULL, **output: str) -> LivetransApp:
    return make_app(Screenplay(*events), snapshot=snapshot, settings=Settings(output=OutputSettings(**output)))  # type: ignore[arg-type]


def at_the_end() -> list[Event]:
    source = "The water came up to the second step of my house before midnight."
    text = "Das Wasser stand vor Mitternacht bis zur zweiten Stufe meines Hauses."
    return [*conversation(), caption(5, text, final=True, source=source, committed=source), ended()]


@pytest.mark.parametrize("size", sizes((80, 24), (40, 10), (60, 12), (120, 40)))
def test_captions(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation()), run_before=settle, terminal_size=size)


@pytest.mark.parametrize("theme", [name for name in THEMES if name != "dark"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(still(*conversation(), theme=theme), run_before=settle, terminal_size=(80, 24))


@pytest.mark.long
def test_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(still(*conversation()), run_before=settle, terminal_size=(80, 24))


@pytest.mark.parametrize("size", sizes((80, 24), (60, 20)))
def test_research_panel(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation(), panel="research"), run_before=settle, terminal_size=size)


@pytest.mark.parametrize("size", sizes((80, 24), (40, 10)))
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(still(*conversation()), run_before=settle, press=["question_mark"], terminal_size=size)


def test_messages(snap_compare: Compare) -> None:
    zeros = Notice("warning", "The microphone gives nothing but zeros: it is muted, or this terminal may not use it.")
    app = still(*conversation(), Notice("warning", "The disk is full: nothing is recorded any more."), zeros)
    assert snap_compare(app, run_before=settle, terminal_size=(40, 10))


@pytest.mark.long
def test_loading(snap_compare: Compare) -> None:
    app = still(Notice("info", "loading the translator ..."), snapshot=Snapshot())
    assert snap_compare(app, run_before=settle, terminal_size=(80, 24))


def test_after_the_end(snap_compare: Compare) -> None:
    assert snap_compare(still(*at_the_end()), run_before=settle, terminal_size=(80, 24))


def talk(language: str, *sentences: tuple[str, str]) -> list[Event]:
    """Finished sentences, the last of them still being spoken, with captions in the language."""
    *finished, (source, text) = sentences
    captions = [
        caption(number, target, final=True, source=spoken, committed=spoken)
        for number, (spoken, target) in enumerate(finished)
    ]
    number = len(finished)
    captions.append(caption(number, text[: len(text) // 2], source=source, committed=source[:20]))
    captions.append(caption(number, text, source=source, committed=source[:20], revision=1))
    events: list[Event] = [replace(one, language=language) for one in captions]
    # A caption that waits to be drawn is left out where the next message is a newer one.
    return [started(), *events[:-1], Notice("info", ""), events[-1]]


def test_right_to_left(snap_compare: Compare) -> None:
    """Lines end at the right edge; a number and a Latin name in them keep their order."""
    events = talk(
        "ar",
        ("Good morning and welcome to the city council.", "صباح الخير ومرحبا بكم في مجلس المدينة."),
        (
            "WHO said on 15 March that the bridge in Münster is safe, and that 3.5 million people may use it.",
            "WHO قالت في 15 مارس إن الجسر في Münster آمن، وإن 3.5 مليون شخص يمكنهم استخدامه كل يوم بلا خوف.",
        ),
        ("The water came up to the second step of my house", "وصل الماء إلى الدرجة الثانية من بيتي قبل"),
    )
    assert snap_compare(still(*events), run_before=settle, terminal_size=(80, 24))


def test_scripts_without_spaces(snap_compare: Compare) -> None:
    """Lines are filled and broken between letters; punctuation does not begin one."""
    events = talk(
        "th",
        (
            "Good morning and welcome to the city council.",
            "おはようございます。本日は市議会にお越しいただき、誠にありがとうございます。橋の件から始めます。",
        ),
        (
            "The engineers say that the river was higher.",
            "工程师说，河水比预期的要高，所以我们必须等到三月才能继续修建这座新桥，请大家耐心等待，谢谢。",
        ),
        (
            "The water came up to the second step of my house before midnight.",
            "น้ำท่วมถึงขั้นที่สองของบ้านก่อนเที่ยงคืนและเราต้องย้ายของขึ้นชั้นบนทั้งหมด",
        ),
    )
    assert snap_compare(still(*events), run_before=settle, terminal_size=(80, 24))
