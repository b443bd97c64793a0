"""Captions read aloud on the page, by a stubbed voice that takes time by the word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from livetrans.config import BetweenSettings, Settings
from livetrans.events import Caption, Event, Gap, Record, RunStarted, SettingChanged
from livetrans.run.listening import with_speaker
from livetrans.run.translating import Translating
from livetrans.serve.server import CaptionServer
from tests.lm.scripted import ScriptedModel
from tests.run.scripted_run import into_languages, scripted_lanes, updates

from .browser import Browser, Page, reading
from .reader import caption, served

long = pytest.mark.long

VOICE = """
class Voice {
  voices = [];
  read = [];
  getVoices() { return this.voices; }
  speak(utterance) {
    if (!utterance.text) return;
    if (this.current) throw new Error("two captions at once");
    this.read.push({ text: utterance.text, voice: utterance.voice.name, lang: utterance.lang, rate: utterance.rate });
    this.current = utterance;
    this.left = utterance.text.split(" ").length / utterance.rate;
  }
  /* Let as much time pass as these words take at rate 1. */
  advance(words) {
    this.left -= words;
    if (!this.current || this.left > 0) return;
    const ended = this.current;
    this.current = null;
    ended.onend();
  }
  cancel() {
    const ended = this.current;
    this.current = null;
    ended?.onerror();
  }
  load(...voices) {
    this.voices = voices.map(([name, lang, localService]) => ({ name, lang, localService, default: false }));
    this.onvoiceschanged?.();
  }
}
Object.defineProperty(window, "speechSynthesis", { value: new Voice() });
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
speechSynthesis.load(["Anna", "de-DE", true], ["Samantha", "en-US", true]);
/* The page's rest between two captions is shorter. */
const wait = setTimeout;
window.setTimeout = (call, time) => wait(call, time < 1000 ? time / 20 : time);
"""
IMPATIENT = "window.setTimeout = (call, time) => wait(call, time / 20);"


@dataclass
class Listener:
    page: Page

    @property
    def read(self) -> list[str]:
        """What the voice has begun to read."""
        return [one["text"] for one in self.utterances]

    @property
    def utterances(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.run("speechSynthesis.read")
        return found

    @property
    def left_out(self) -> list[str]:
        """What the page marks."""
        found: list[str] = self.page.run(
            "[...document.querySelectorAll('.unread .words')].map((one) => one.textContent)"
        )
        return found

    @property
    def state(self) -> str:
        return str(self.page.run("document.getElementById('state').textContent"))

    def shows(self, *texts: str) -> None:
        self.page.shows(*texts)

    def hears(self, *texts: str) -> None:
        self.page.until(lambda: self.read == list(texts))

    def misses(self, *texts: str) -> None:
        self.page.until(lambda: self.left_out == list(texts))

    def rests(self) -> None:
        """Wait until nothing is read."""
        self.page.run("new Promise((done) => setTimeout(done, 600))")
        assert not self.page.run("Boolean(speechSynthesis.current)")

    def advance(self, words: float) -> None:
        self.page.run(f"speechSynthesis.advance({words})")

    def hide(self, is_hidden: bool = True) -> None:
        state = "hidden" if is_hidden else "visible"
        self.page.run(f"Object.defineProperty(document, 'visibilityState', {{ value: '{state}', configurable: true }})")
        self.page.run("document.dispatchEvent(new Event('visibilitychange'))")


@contextmanager
def running(settings: Settings) -> Iterator[CaptionServer]:
    with served() as server:
        server.lines.write(Record(0.0, RunStarted({}, settings)))
        yield server


@contextmanager
def listening(browser: Browser, server: CaptionServer, query: str = "?speak=1", before: str = "") -> Iterator[Listener]:
    with reading(browser, server, query, before=VOICE + before) as page:
        page.until(lambda: page.run("document.getElementById('state').textContent").startswith("Live"))
        yield Listener(page)


def say(server: CaptionServer, number: int, text: str, language: str = "de") -> None:
    server.lines.write(caption(number, text, final=True, language=language))


PAIR = BetweenSettings(("de", "en"), ("Ben", "Ana"))
CONVERSATION = Settings(sources=PAIR.languages, targets=PAIR.languages, between=PAIR)


def captions_of(turns: list[tuple[str, str]]) -> Iterator[Caption]:
    """The captions of a conversation in a run with a scripted translator, from language and text of each turn."""
    model = ScriptedModel(into_languages)
    translating = Translating(scripted_lanes(model, PAIR.languages), {}, model.close)
    for transcript in updates([text for _, text in turns]):
        found: list[Event] = []
        spoken = replace(transcript, language=turns[transcript.segment_id][0])
        translating.translate(with_speaker(spoken, PAIR.speakers), CONVERSATION, found.append)
        yield from (event for event in found if isinstance(event, Caption))


def test_two_pages_read_a_conversation_each_in_its_language_and_one_aloud(browser: Browser) -> None:
    """A page begins in the browser's language, which is English here, unless its address names one.

    The voice keeps up with the first turns. Then turns pass while it reads one of them.
    """
    spoken = ["en", "de", "fr", "en", "de", "en", "en", "en", "en", "en"]
    turns = [(language, f"turn {number}") for number, language in enumerate(spoken)]
    with running(CONVERSATION) as server, listening(browser, server, "?to=de&speak=1") as german:
        with reading(browser, server) as english:
            english.until(lambda: english.run("document.querySelector('#to option:checked')?.value") == "en")
            shown: dict[str, dict[int, str]] = {"de": {}, "en": {}}
            for one in captions_of(turns):
                server.lines.write(Record(one.end, one))
                if not one.text:
                    continue
                assert one.language
                shown[one.language][one.segment_id] = one.text
                page = german.page if one.language == "de" else english
                page.shows(*shown[one.language].values())
                if one.final and one.language == "de" and one.segment_id < 5:
                    german.advance(2)
                    german.rests()
            translated = [shown["de"][number] for number, language in enumerate(spoken) if language == "en"]
            assert translated[0] == "turn~de 0~de"
            german.hears(*translated[:3])
            german.misses(*translated[3:5])
            german.advance(2)
            german.hears(*translated[:3], translated[5])
            german.advance(2 / 1.25)
            german.hears(*translated[:3], *translated[5:])
            german.advance(2 / 1.125)
            german.rests()
            assert [one["rate"] for one in german.utterances] == [1, 1, 1, 1.25, 1.125]
            assert {(one["voice"], one["lang"]) for one in german.utterances} == {("Anna", "de-DE")}
            labels = "[...document.querySelectorAll('.label')].map((one) => one.textContent).slice(0, 3)"
            foreign = "[...document.querySelectorAll('.untranslated .words')].map((one) => one.textContent)"
            for page in (german.page, english):
                assert page.run(labels) == ["Ana", "Ben", "French"]
                assert page.run(foreign) == ["turn 2"]
            assert english.run("document.querySelectorAll('.unread').length") == 0


@long
def test_nothing_is_read_while_paused_or_hidden_and_what_was_due_is_marked(browser: Browser) -> None:
    with running(Settings(targets=("de",))) as server, listening(browser, server) as listener:
        for number in range(3):
            say(server, number, f"Satz {number}.")
        listener.hears("Satz 0.")
        server.lines.write(Record(3.0, SettingChanged("paused", True)))
        listener.misses("Satz 0.", "Satz 1.", "Satz 2.")
        say(server, 3, "Satz 3.")
        listener.misses("Satz 0.", "Satz 1.", "Satz 2.", "Satz 3.")
        server.lines.write(Record(4.0, SettingChanged("paused", False)))
        listener.page.until(lambda: listener.state == "Live")
        say(server, 4, "Satz 4.")
        listener.hears("Satz 0.", "Satz 4.")
        listener.hide()
        say(server, 5, "Satz 5.")
        listener.misses(*(f"Satz {number}." for number in range(6)))
        listener.hide(False)
        say(server, 6, "Satz 6.")
        listener.hears("Satz 0.", "Satz 4.", "Satz 6.")
        server.lines.write(Record(9.0, Gap(7.0, 9.0, "paused")))
        listener.page.press("a")
        listener.misses(*(f"Satz {number}." for number in range(7)))
        say(server, 7, "Satz 7.")
        listener.shows(*(f"Satz {number}." for number in range(7)), "[Paused: 2 sec]", "Satz 7.")
        assert len(listener.read) == 3 and len(listener.left_out) == 7
        assert listener.page.run("location.search") == "?speak=0"


@long
def test_nothing_is_read_that_was_there_before_or_was_read_already(browser: Browser) -> None:
    def say_both(number: int) -> None:
        for language in ("de", "en"):
            say(current, number, f"{language} {number}", language=language)

    with running(Settings(targets=("de", "en"))) as server:
        current = server
        say_both(0)
        with listening(browser, server, "?to=de&speak=1") as listener:
            listener.shows("de 0")
            say_both(1)
            listener.hears("de 1")
            server.lines.write(Record(3.0, Gap(1.0, 2.0, "sleep")))
            listener.page.press("t")
            listener.shows("en 0", "en 1", "[No sound: 1 sec]")
            say_both(2)
            listener.hears("de 1", "en 2")
            listener.advance(2)
            server.stop()
            with served(f"localhost:{urlsplit(server.address).port}", server.lines) as current:
                say_both(3)
                listener.hears("de 1", "en 2", "en 3")
                listener.advance(2)
                listener.rests()
                say_both(4)
                listener.hears("de 1", "en 2", "en 3", "en 4")
            assert listener.left_out == []


@long
def test_a_voice_that_fails_or_never_ends_does_not_end_the_reading(browser: Browser) -> None:
    with running(Settings(targets=("de",))) as server, listening(browser, server, before=IMPATIENT) as listener:
        say(server, 0, "Eins.")
        listener.hears("Eins.")
        listener.page.run("speechSynthesis.cancel()")
        listener.misses("Eins.")
        say(server, 1, "Zwei.")
        listener.hears("Eins.", "Zwei.")
        say(server, 2, "Drei.")
        listener.hears("Eins.", "Zwei.", "Drei.")  # After the patience with the voice.
        listener.misses("Eins.", "Zwei.")


@long
def test_only_voices_of_the_device_are_used_and_the_page_says_what_is_missing(browser: Browser) -> None:
    before = "speechSynthesis.load(); Object.defineProperty(navigator, 'userActivation', { value: {} });"
    with running(Settings(targets=("no",))) as server, listening(browser, server, before=before) as listener:
        listener.page.until(lambda: listener.state == "Live · no voice for Norwegian here")
        say(server, 0, "En.", language="no")
        load = "speechSynthesis.load(['Google norsk', 'nb_NO', false], ['Anna', 'de-DE', true])"
        listener.page.run(load)
        assert listener.state == "Live · voices for Norwegian here need the internet and are not used"
        say(server, 1, "To.", language="no")
        listener.shows("En.", "To.")
        listener.page.run(load.replace(")", ", ['Albert', 'nb-NO', true], ['Nora', 'nb_NO', true])"))
        assert listener.state == "Live"
        listener.page.run("navigator.userActivation.hasBeenActive = false")
        listener.page.press("?")
        assert listener.state == "Live · tap the page to hear captions"
        listener.page.run("navigator.userActivation.hasBeenActive = true")
        listener.page.press("?")
        say(server, 2, "Tre.", language="no")
        listener.hears("Tre.")
        assert [(one["voice"], one["lang"]) for one in listener.utterances] == [("Nora", "nb_NO")]
        assert listener.left_out == []


@long
def test_a_browser_without_voices_says_so(browser: Browser) -> None:
    for before, sentence in (
        ("", "no voice for German here"),
        ("delete window.speechSynthesis;", "this browser cannot read"),
    ):
        with running(Settings(targets=("de",))) as server, reading(browser, server, before=before) as page:
            page.press("a")
            page.until(lambda sentence=sentence: sentence in page.run("document.getElementById('state').textContent"))
            say(server, 0, "Eins.")
            page.shows("Eins.")
