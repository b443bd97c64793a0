"""Captions for platforms: every final once, in order, whatever their inputs do, and no word of a link anywhere."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from livetrans.base.errors import LivetransError, UsageError
from livetrans.base.text import display_width
from livetrans.cli import run
from livetrans.config import MeetingSettings, OutputSettings, Settings
from livetrans.events import Caption, NameCorrected, Notice, Record, RunStarted, Transcript
from livetrans.serve import platforms, sending
from livetrans.serve.platforms import parse_link
from livetrans.serve.sending import SENT_FILE, OpenLink, PlatformCaptions
from livetrans.session.codec import read_records
from livetrans.session.recorder import SessionRecorder
from tests.session.examples import transcript, write_session

from .stand_in import KEYS, SECRETS, StandIn, standing_in

PLATFORMS = [*KEYS]
PATIENCE = 20.0
WORDS = "guten morgen und herzlich willkommen zu diesem langen abend über das wetter im norden".split()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platforms, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(sending, "LONGEST_PAUSE", 0.02)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def final(segment: int, text: str, *, at: float = 0.0, captured: float | None = None, **of: str | None) -> Record:
    spoken = Transcript(segment, 0, "said", "", True, segment, segment + 1.0, captured, track=of.get("track"))
    return Record(at or segment + 1.5, Caption(spoken, text, language=of.get("language", "de")))


def sink(
    stand_in: StandIn, settings: Settings | None = None, session: SessionRecorder | None = None
) -> PlatformCaptions:
    found = PlatformCaptions(OpenLink(parse_link(stand_in.link, "de")), settings or Settings())
    if session:
        found.note_in(session)
    return found


def until(found: Callable[[], object]) -> None:
    limit = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize("name", PLATFORMS)
@pytest.mark.parametrize("seed", range(3))
def test_every_final_comes_once_and_in_order_whatever_fails(name: str, seed: int) -> None:
    chance = random.Random(seed)
    # Teams has no numbers: whether it took a text whose answer was lost cannot be known.
    faults = ["500", "403", "400", "silence", "cut", "", "", *(["lost"] * 2 if name != "Teams" else [])]
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 40))) + "." for _ in range(12)]
    with standing_in(name) as stand_in:
        outlet = sink(stand_in)
        stand_in.faults = [chance.choice(faults) for _ in range(25)]
        outlet.start(print)
        for number, text in enumerate(texts):
            outlet.write(Record(0.0, growing(number)))
            outlet.write(final(number, text))
        outlet.close()
        assert stand_in.text == " ".join(texts)
        assert outlet.outcome() == f"{name} (de): {len(stand_in.shown)} texts sent."
        widest = 120 if name == "Teams" else 42
        assert all(display_width(line) <= widest for text in stand_in.shown for line in text.split("\n"))
        assert stand_in.codes == ({"Zoom": {"de-DE"}, "Teams": {"de-de"}}.get(name, set()))


def growing(segment: int) -> Caption:
    return Caption(Transcript(segment, 0, "", "grows", False, 0.0, 1.0), "wächst", language="de")


@pytest.mark.parametrize("ours", [-90.0, 90.0])
def test_youtube_gets_utc_times_of_the_speech_by_its_own_clock(ours: float) -> None:
    notes: list[Notice] = []
    with standing_in("YouTube", clock_error=-ours) as stand_in:
        outlet = sink(stand_in, Settings(output=OutputSettings(captions_delay=5.0)))
        outlet.start(notes.append)
        for number in range(3):  # Spoken 2 to 3 s before it was published.
            outlet.write(final(number, f"satz {number}.", at=100.0, captured=98.0))
        sent = datetime.now(UTC).replace(tzinfo=None)
        outlet.close()
        assert stand_in.shown == ["satz 0.", "satz 1.", "satz 2."]
        late = [(one - sent).total_seconds() + ours for one in stand_in.times]
        assert late == sorted(late) and all(abs(one - 2.0) < 0.5 for one in late), late
    assert len(notes) == 1 and re.search(r"clock is (89|90|91) s (ahead of|behind) that of YouTube", notes[0].text)


def test_one_notice_when_a_platform_stops_and_one_when_it_is_over() -> None:
    notes: list[Notice] = []
    with standing_in("Zoom") as stand_in:
        outlet = sink(stand_in)
        outlet.start(notes.append)
        stand_in.faults = ["400"] * 6
        outlet.write(final(0, "eins."))
        until(lambda: "has the meeting begun" in outlet.status)
        until(lambda: re.fullmatch(r"Zoom \(de\): 1 sent, 0 s ago", outlet.status))
        outlet.close()
    assert [(note.level, note.about) for note in notes] == [("warning", "Zoom (de)"), ("info", "Zoom (de)")]
    assert not any(secret in note.text for note in notes for secret in SECRETS)


def test_numbers_go_on_after_another_run_and_a_link_has_one_run() -> None:
    with standing_in("YouTube") as stand_in:
        for number in range(2):
            outlet = sink(stand_in)
            outlet.start(print)
            with pytest.raises(LivetransError, match="in use already"):
                sink(stand_in)
            outlet.write(final(0, f"lauf {number}."))
            outlet.close()
        assert (stand_in.shown, stand_in.last) == (["lauf 0.", "lauf 1."], 2)
    with standing_in("Zoom") as stand_in:
        stand_in.last = 41  # Another program used the link before.
        outlet = sink(stand_in)
        outlet.start(print)
        outlet.write(final(0, "danach."))
        outlet.close()
        assert (stand_in.shown, stand_in.last) == (["danach."], 42)


def test_a_language_and_whatever_concerns_everybody() -> None:
    meeting = MeetingSettings(names=("ich", "alle"))
    with standing_in("Zoom") as stand_in:
        outlet = sink(stand_in, Settings(targets=("fr", "de"), meeting=meeting))
        outlet.start(print)
        outlet.write(final(0, "bonjour.", track="alle", language="fr"))
        outlet.write(final(0, "guten tag.", track="alle", language="de"))
        outlet.write(final(1, "hello.", track="ich", language="en"))
        outlet.close()
        assert stand_in.shown == ["alle: guten tag.", "ich: hello."]


def test_a_name_is_corrected_in_captions_that_wait() -> None:
    with standing_in("Zoom") as stand_in:
        outlet = sink(stand_in)
        spoken = Transcript(0, 0, "shiv on is here", "", True, 0.0, 1.0)
        outlet.write(Record(1.0, Caption(spoken, "shiv on ist hier.", language="de")))
        outlet.write(Record(2.0, NameCorrected("shiv on", "shiv on", "Siobhan")))
        outlet.start(print)
        outlet.close()
        assert stand_in.shown == ["Siobhan ist hier."]


@pytest.mark.parametrize(("name", "fault"), [("YouTube", "lost"), ("YouTube", "500"), ("Zoom", "500")])
def test_what_a_session_lacks_follows_with_the_same_number(name: str, fault: str, tmp_path: Path) -> None:
    records = [Record(0.0, RunStarted({}, began_at=time.time())), *(final(one, f"satz {one}.") for one in range(4))]
    session = SessionRecorder(tmp_path / "kept")
    with standing_in(name) as stand_in:
        outlet = sink(stand_in, session=session)
        stand_in.on_text = lambda: stand_in.faults.extend([fault] * 1000)
        outlet.start(print)
        for record in records:
            session.write(record)
            outlet.write(record)
        until(lambda: outlet._fault)
        outlet._ends_at = 0.001  # As if it was killed.
        outlet._thread.join(PATIENCE)
        outlet.close()
        outlet._opened.close()
        session.close()
        stand_in.faults, stand_in.on_text = [], lambda: None
        again = SessionRecorder(tmp_path / "kept", append=True)
        outlet = sink(stand_in, session=again)
        outlet.start(print, read_records(tmp_path / "kept"))
        outlet.close()
        assert stand_in.shown == [f"satz {one}." for one in range(4)]
        notes = (tmp_path / "kept" / SENT_FILE).read_text()
        assert "127.0.0.1" not in notes and not any(secret in notes for secret in SECRETS)
        again.close()


LINKS = ["https://wmcc.zoom.us/closedcaption?id=1&ns=x", "https://upload.youtube.com/closedcaption?cid=a-b",
         "http://upload.youtube.com/closedcaption?cid=a-b",
         "https://api.captions.office.microsoft.com/cartcaption?meetingid=1&token=x"]  # fmt: skip
REFUSED = [
    "https://zoom.us.example.org/closedcaption?id=1", "https://example.org/closedcaption?cid=1", "zoom",
    "http://wmcc.zoom.us/closedcaption?id=1", "ftp://upload.youtube.com/closedcaption?cid=1",
    "https://upload.youtube.com@example.org/closedcaption?cid=1", "https://upload.youtube.com.example/closedcaption",
    "http://192.168.1.5/closedcaption?cid=1", "http://api.captions.office.microsoft.com/cartcaption?token=1",
    "https://[::1/closedcaption?cid=1", "https://evilzoom.us/closedcaption?id=1",
]  # fmt: skip


def test_the_host_tells_the_platform_and_others_are_refused_without_a_word_of_the_link() -> None:
    assert [parse_link(link, "de").platform.name for link in LINKS] == ["Zoom", "YouTube", "YouTube", "Teams"]
    for link in REFUSED:
        with pytest.raises(LivetransError) as error:
            parse_link(link, "de")
        assert link not in str(error.value) and "id=1" not in str(error.value)
    assert "token" not in repr(parse_link(LINKS[3], "de"))


@pytest.mark.parametrize(
    ("place", "mode", "code", "sentence"),
    [
        ("https://wmcc.zoom.us/closedcaption?id=1", 0o600, 2, "is not given itself"),
        ("de=https://wmcc.zoom.us/closedcaption?id=1", 0o600, 2, "is not given itself"),
        ("@{}", 0o644, 1, "others can read: run chmod 600"),
        ("fr=@{}", 0o600, 2, "needs captions in fr; add it to --to"),
        ("@{}x", 0o600, 1, "cannot be read"),
        ("NO_SUCH_LINK", 0o600, 1, "no environment variable NO_SUCH_LINK"),
        ("@{}", 0o600, 1, "is not a caption link of YouTube, Zoom, Teams"),
    ],
)
def test_what_cannot_be_a_link_is_one_sentence_and_leaves_no_session(
    place: str, mode: int, code: int, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "link.txt"
    file.write_text("https://example.org/?secret=abcd\n")
    file.chmod(mode)
    talk = write_session(tmp_path / "talk.jsonl", transcript(0, 0, "good morning", final=True))
    words = ["replay", str(talk), "--plain", "--captions-to", place.format(file)]
    assert run([*words, "--session", str(tmp_path / "kept")]) == code
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and "abcd" not in said and "id=1" not in said
    assert not (tmp_path / "kept").exists()


def test_a_link_is_tried_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with standing_in("Zoom") as stand_in:
        place = stand_in.secret_in(tmp_path)
        assert run(["send-test", f"fr={place}", "bonjour à tous"]) == 0
        assert (stand_in.shown, stand_in.codes) == (["bonjour à tous"], {"fr-FR"})
        assert capsys.readouterr().out.startswith("Zoom took the text 'bonjour à tous'")
        stand_in.faults = ["400"]
        assert run(["send-test", place]) == 1
        assert "Zoom took no text (answer 400: has the meeting begun" in capsys.readouterr().err
        with pytest.raises(UsageError, match="is not given itself"):
            raise_usage(stand_in.link)


def raise_usage(link: str) -> None:
    from livetrans.cli.declarations import caption_place

    caption_place(link)


HEARD = ["good morning", "thank you for coming", "the weather is nice", "we begin now", "good night", "see you soon"]
TALK = Path(__file__).parents[2] / "recordings" / "talk.flac"


@pytest.mark.parametrize("name", ["YouTube", "Zoom"])
@pytest.mark.parametrize("after", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_killed_run_and_resume_send_each_final_once(
    name: str, after: int, tmp_path: Path, translator_path: Path
) -> None:
    heard = [transcript(place, place, text, final=True) for place, text in enumerate(HEARD)]
    talk = write_session(tmp_path / "talk.jsonl", *(replace(one, end=one.end / 3) for one in heard))
    assert len(killed_and_resumed(name, after, [str(talk), "--mt", str(translator_path)], tmp_path)) >= after


@pytest.mark.long
@pytest.mark.parametrize("name", ["YouTube", "Zoom"])
@pytest.mark.parametrize("after", [1, 3])
def test_a_killed_run_over_a_recording_goes_on_with_it(name: str, after: int, tmp_path: Path) -> None:
    assert len(killed_and_resumed(name, after, [str(TALK), "--end", "25"], tmp_path)) > after + 1


def killed_and_resumed(name: str, after: int, words: list[str], folder: Path) -> list[str]:
    """Kill a run when a platform has taken its text number `after`, before it can answer; return all that it got."""
    livetrans, session = [sys.executable, "-m", "livetrans"], folder / "kept"
    with standing_in(name) as stand_in:
        place = f"de={stand_in.secret_in(folder)}"
        words = ["replay", *words, "--plain", "--captions-to", place, "--session", str(session)]
        process = subprocess.Popen([*livetrans, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seen: list[str] = []

        def kill() -> None:
            if len(stand_in.shown) == after:
                seen.extend(psutil.Process(process.pid).cmdline())
                process.send_signal(signal.SIGKILL)
                process.wait(PATIENCE)

        stand_in.on_text = kill
        said = process.communicate(timeout=90)[1]
        assert process.returncode == -signal.SIGKILL, said
        stand_in.on_text = lambda: None
        words = ["resume", str(session), "--captions-to", place]
        done = subprocess.run([*livetrans, *words], capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, done.stderr
        finals = [one.event for one in read_records(session) if isinstance(one.event, Caption) and one.event.final]
        assert stand_in.text == " ".join(one.text for one in finals if one.text)
        written = "".join(path.read_text() for path in session.iterdir()) + said + done.stdout + done.stderr
        assert not any(secret in text for secret in SECRETS for text in (written, *seen))
        return stand_in.shown
