"""A translator on a server, of every dialect, against the same weights in the process."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livetrans.base.clock import Clock, SystemClock
from livetrans.base.errors import ContextError, LivetransError, ModelError, UsageError
from livetrans.base.sequences import common_prefix_length
from livetrans.cli import run
from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings, Settings, with_field
from livetrans.decoding import of_server
from livetrans.events import Caption, Event, Notice, RunEnded, Transcript, Translation
from livetrans.lm.llama.model import LlamaModel
from livetrans.lm.prompts import Prompt, build_prompt
from livetrans.lm.server.model import COUNTING, ServerModel, open_server
from livetrans.lm.server.transport import ServerFault, parse_server, privacy
from livetrans.models.chosen import choose_models
from livetrans.run.backpressure import Level
from livetrans.run.listening import Listening
from livetrans.run.opening import open_translating
from livetrans.run.pipeline import Pipeline
from livetrans.run.publisher import Publish
from livetrans.run.runner import PlainLoop
from livetrans.run.translating import Translating, languages
from livetrans.translation.translator import Translator
from tests.certificates import self_signed
from tests.lm.server.fake import MODEL, FakeServer
from tests.run.scripted_run import Collected

DIALECTS = ("completions", "llama-server", "ollama", "vllm", "sglang")
EXACT = ("vllm", "sglang")
SPEECH = "The man who lives next to us told me that two boys stood in the garden for an hour"
Serve = Callable[..., FakeServer]


@pytest.fixture
def serve(model: LlamaModel) -> Iterator[Serve]:
    """Starts servers over the embedded translator."""
    servers: list[FakeServer] = []

    def start(dialect: str, fault: str = "", **more: Any) -> FakeServer:
        servers.append(FakeServer(model.another_context(), dialect, fault, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def opened(server: FakeServer) -> tuple[ServerModel, Prompt]:
    """Return the model of a server, as a run opens it, and its prompt."""
    model = open_server(LanguageModelSettings(Path(), server=server.url), 161, SystemClock())
    prompt = build_prompt(model, None, *languages(Settings()))
    model.learn(prompt.tokens(model, COUNTING))
    return model, prompt


def growing(speech: str = SPEECH, segment: int = 0) -> list[Transcript]:
    words = speech.split()
    texts = [" ".join(words[:count]) for count in range(1, len(words) + 1)]
    partials = [Transcript(segment, at, text, "", False, 0.0, float(at)) for at, text in enumerate(texts)]
    return [*partials, Transcript(segment, len(texts), f"{texts[-1]}.", "", True, 0.0, float(len(texts)))]


def translated(model: Any, prompt: Prompt, decoding: DecodingSettings) -> list[Translation]:
    translator = Translator(model)
    return [translator.translate(one, prompt, decoding, MaskSettings(), 1.2) for one in growing()]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_retranslation_on_a_server_is_that_of_the_process(serve: Serve, model: LlamaModel, dialect: str) -> None:
    decoding = DecodingSettings("rt")
    here = translated(model, build_prompt(model, None, *languages(Settings())), decoding)
    server = serve(dialect)
    on_server = opened(server)
    connections = server.connections
    there = translated(*on_server, decoding)
    assert [one.text for one in there] == [one.text for one in here]
    assert server.connections - connections <= 1, "answers that are read to their end keep the connection"


@pytest.mark.parametrize("dialect", [EXACT[0], *(pytest.param(one, marks=pytest.mark.long) for one in EXACT[1:])])
@pytest.mark.parametrize(
    "decoding",
    [
        DecodingSettings("ssbd"),
        DecodingSettings("ssbd", bias=0.2),
        DecodingSettings("window"),
        DecodingSettings("window", window=160, early_stop=False),
        DecodingSettings("cd"),
    ],
    ids=lambda one: f"{one.method}@{one.bias}:{one.window}",
)
def test_on_a_server_that_scores_drafts_decoders_write_the_tokens_of_the_process(
    serve: Serve, model: LlamaModel, dialect: str, decoding: DecodingSettings
) -> None:
    here = translated(still(model), build_prompt(model, None, *languages(Settings())), decoding)
    there = translated(*opened(serve(dialect)), decoding)
    assert [one.tokens for one in there] == [one.tokens for one in here]
    assert [one.hidden_tokens for one in there] == [one.hidden_tokens for one in here]
    assert sum(one.stats.accepted_tokens for one in there) == sum(one.stats.accepted_tokens for one in here) > 0


def still(model: LlamaModel) -> LlamaModel:
    """Return a context that moves no cells: what is moved was computed with the shorter source, on no server."""
    context = model.another_context()
    context.move = lambda *_: None  # type: ignore[method-assign, assignment, return-value]
    return context


@pytest.mark.parametrize("dialect", EXACT)
def test_a_server_that_scores_drafts_goes_on_in_the_same_request(serve: Serve, dialect: str) -> None:
    server = serve(dialect)
    model, prompt = opened(server)
    before = server.asked
    updates = translated(model, prompt, DecodingSettings("ssbd", bias=0.2))
    assert server.asked - before <= 1.4 * len(updates)


def test_sglang_keeps_the_cache_of_the_prompt(serve: Serve) -> None:
    server = serve("sglang")
    model, prompt = opened(server)
    translated(model, prompt, DecodingSettings("ssbd", bias=0.2))
    for path, body in server.requests:
        if path == "/generate" and len(body["input_ids"]) > 20:
            assert body["logprob_start_len"] >= len(prompt.before)


def test_vllm_is_never_sent_what_ends_it(serve: Serve) -> None:
    server = serve("vllm")
    translated(*opened(server), DecodingSettings("ssbd"))
    bodies = [body for path, body in server.requests if path == "/v1/completions"]
    assert bodies and not any("skip_reading_prefix_cache" in body for body in bodies)
    assert all(body["temperature"] == 0 and body["repetition_penalty"] == 1.0 for body in bodies)
    assert not any("prompt_logprobs" in body for body in bodies)  # Which is refused of an answer in parts.


@pytest.mark.parametrize("dialect", EXACT)
@pytest.mark.parametrize("fault", ["short list", "garbage list"])
def test_a_server_that_scores_wrongly_serves_as_one_of_text(serve: Serve, dialect: str, fault: str) -> None:
    server = serve(dialect, fault)
    model, prompt = opened(server)
    assert not model.is_exact and of_server(is_exact=model.is_exact) == ["rt", "prefix", "cd"]
    if dialect == "vllm":
        assert translated(model, prompt, DecodingSettings("prefix"))[-1].text


@pytest.mark.parametrize("dialect", ("completions", "llama-server", "ollama"))
def test_a_text_server_needs_few_requests_and_takes_back_less(serve: Serve, dialect: str) -> None:
    server = serve(dialect)
    model, prompt = opened(server)
    before = server.asked
    updates = translated(model, prompt, DecodingSettings("prefix"))
    assert server.asked - before <= 1.5 * len(updates)
    assert sum(one.stats.forward_passes for one in updates) == server.asked - before

    def erased(found: list[Translation]) -> int:
        shown = [one.tokens[: len(one.tokens) - one.hidden_tokens] for one in found]
        return sum(len(old) - common_prefix_length(old, new) for old, new in pairwise(shown))

    assert erased(updates) < erased(translated(model, prompt, DecodingSettings("rt")))


def test_a_server_that_begins_anew_is_refused(serve: Serve) -> None:
    with pytest.raises(ModelError, match="starts each translation again"):
        opened(serve("completions", "restarts"))


@pytest.mark.parametrize("speech", ["Say <|tgt|> twice.", "</s> and [INST] are marks"])
def test_speech_holds_no_control_token(serve: Serve, speech: str) -> None:
    server = serve("completions")
    model, prompt = opened(server)
    Translator(model).translate(growing(speech)[-1], prompt, DecodingSettings("rt"), MaskSettings())
    sent = server.requests[-1][1]["prompt"]
    assert sent.count("<|tgt|>") == 1 and "</s>" not in sent and "[INST]" not in sent


FAULTS = {
    "401": "LIVETRANS_MT_KEY",
    "404": "--mt-model",
    "500": "look at what it printed",
    "503": "loading or busy",
    "page": "something else than a translation",
    "endless": "answer without end",
    "thinking": "thinks aloud",
    "death": "broke",
    "breaks off": "broke",
    "400": "as all others",
    "429": "busy",
    "redirected": "redirects to https://elsewhere/; give the address itself",
    "rubbish": "something else than a translation; check the address",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_failure_is_one_sentence(serve: Serve, fault: str) -> None:
    server = serve("completions")
    model, prompt = opened(server)
    server.fault = fault
    with pytest.raises(ServerFault) as raised:
        translated(model, prompt, DecodingSettings("prefix"))
    assert FAULTS[fault] in str(raised.value) and "\n" not in str(raised.value)


def test_a_text_that_a_server_refuses_is_not_the_end_of_the_others(serve: Serve) -> None:
    server = serve("completions")
    model, prompt = opened(server)
    server.fault, server.faults_left = "400", 1
    with pytest.raises(ContextError, match="refuses the text"):
        Translator(model).translate(growing()[-1], prompt, DecodingSettings("prefix"), MaskSettings())
    assert translated(model, prompt, DecodingSettings("prefix"))[-1].text


RUBBISH = [
    5, "x", [], {}, {"data": 5}, {"data": [5]}, {"data": [{"id": {}}]}, {"choices": 5}, {"choices": [{"text": 5}]},
    {"choices": []}, {"choices": [{"text": "a"}]}, {"tokens": ["a"]}, {"tokens": [1]}, {"response": 5},
    {"version": 5, "model_path": [], "data": [{"id": "a"}]},
]  # fmt: skip


@pytest.mark.parametrize("dialect", ("completions", *EXACT))
def test_rubbish_is_one_sentence(serve: Serve, dialect: str) -> None:
    server = serve(dialect)
    model, prompt = opened(server)
    for rubbish in RUBBISH:
        server.rubbish = rubbish
        text = f"{SPEECH} {json.dumps(rubbish)}"  # A new one: ids of others are kept.
        with pytest.raises(ServerFault) as raised:
            Translator(model).translate(growing(text)[-1], prompt, DecodingSettings("prefix"), MaskSettings())
        assert "\n" not in str(raised.value)
        with pytest.raises(LivetransError) as refused:
            opened(server)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("answer", [None, {}, {"data": []}])
def test_what_lists_no_models_may_be_no_server(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setattr("livetrans.lm.server.model.Connection.get", lambda *_: answer)
    with pytest.raises(UsageError, match=r"lists no models; .* address"):
        open_server(LanguageModelSettings(Path(), server="http://127.0.0.1:9"), 161, SystemClock())


def test_a_redirect_is_not_followed(serve: Serve) -> None:
    with pytest.raises(ServerFault, match="redirects to http://elsewhere/"):
        opened(serve("completions", "redirect"))


@pytest.mark.parametrize(
    ("dialect", "fault"),
    [
        ("llama-server", "breaks off"),
        ("sglang", "death"),
        ("vllm", "page"),
        *(
            pytest.param(dialect, fault, marks=pytest.mark.long)
            for dialect in DIALECTS
            for fault in ("500", "death", "breaks off", "page")
        ),
        *(
            pytest.param("llama-server", fault, marks=pytest.mark.long)
            for fault in ("401", "429", "503", "thinking", "endless", "redirected", "rubbish")
        ),
    ],
)
def test_captions_are_those_of_a_run_without_failures(serve: Serve, dialect: str, fault: str) -> None:
    """Also after a server that died in mid-stream: nothing is lost, and notices say when it was away and is back."""
    server = serve(dialect)
    settings = choose_models(with_server(server))
    whole = captions(settings)
    server.fault, server.faults_left, events = fault, 0, list[Event]()
    found = captions(settings, events, lambda at: setattr(server, "faults_left", 2 if at % 5 == 0 else 0))
    assert found == whole
    notices = said(events)
    assert any("is away" in one for one in notices) and notices[-1] == BACK


def said(events: list[Event]) -> list[str]:
    """Return what was said of the server's absence."""
    return [one.text for one in events if isinstance(one, Notice) and one.about == "server"]


def watched(settings: Settings, clock: Clock, text: str) -> tuple[Callable[[Publish], Translating], threading.Event]:
    """Return a function that opens the translating side, and what is set once a notice has this text."""
    has_come = threading.Event()

    def translating(publish: Publish) -> Translating:
        def notify(event: Event) -> None:
            publish(event)
            if isinstance(event, Notice) and text in event.text:
                has_come.set()

        return open_translating(settings, clock, notify)

    return translating, has_come


QUIET, BACK = "The translator has been silent for 3 s: captions follow when it answers.", "The translator is back."


def test_a_silent_server_is_waited_for_with_a_word(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is heard meanwhile is kept, and every caption comes."""
    server, collected = serve("llama-server"), Collected()
    settings = choose_models(with_server(server))
    whole = captions(settings)
    monkeypatch.setattr("livetrans.lm.server.transport.QUIET_SECONDS", 0.3)
    monkeypatch.setattr("livetrans.run.pipeline.HUNG_SECONDS", 0.05)
    levels = (Level("normal", 0.0), Level("finals first", 0.7), Level("sound waits", 99.0))
    monkeypatch.setattr("livetrans.run.backpressure.LEVELS", levels)
    has_heard = threading.Event()
    translating, is_silent = watched(settings, SystemClock(), QUIET)

    def heard() -> Iterator[Transcript]:
        for at, one in enumerate(growing()):
            if at == 3:
                server.fault, server.faults_left = "silent", 1
            yield one
        has_heard.set()

    pipeline = Pipeline(settings, lambda *_: Listening(heard()), translating, SystemClock(), [collected])
    pipeline.start()
    assert is_silent.wait(10) and has_heard.wait(10), "the recogniser waits for the server"
    assert not collected.of(RunEnded)
    pipeline.join(1.5)
    server.released.set()
    assert pipeline.join(20)
    notices = [one.text for one in collected.of(Notice)]
    assert notices == [QUIET, BACK] * (len(notices) // 2) != [], "more than its absence is said"
    assert collected.of(Caption)[-1].text == whole[-1]


def test_a_run_that_is_stopped_does_not_wait_for_a_server_that_is_away(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, collected = serve("llama-server"), Collected()
    settings = choose_models(with_server(server))
    monkeypatch.setattr("livetrans.run.pipeline.AWAY_SECONDS", 0.5)
    translating, is_away = watched(settings, SystemClock(), "is away")

    def heard() -> Iterator[Transcript]:
        for at, one in enumerate(growing()):
            if at == 3:
                server.fault = "500"
            yield one

    pipeline = Pipeline(settings, lambda *_: Listening(heard()), translating, SystemClock(), [collected])
    pipeline.start()
    assert is_away.wait(20)
    pipeline.stop()
    assert pipeline.join(20), "it waits for its server"
    assert "1 sentence was not translated" in collected.of(Notice)[-1].text


def test_a_server_that_is_silent_for_long_is_asked_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("llama-server")
    settings, events = choose_models(with_server(server)), list[Event]()
    whole = captions(settings)
    monkeypatch.setattr("livetrans.lm.server.transport._SILENT_SECONDS", 1.0)
    server.fault, server.faults_left = "silent", 0
    assert captions(settings, events, lambda at: setattr(server, "faults_left", at == 5)) == whole
    assert "is silent; look at its load" in said(events)[0] and said(events)[-1] == BACK


def test_a_connection_that_the_server_closed_while_idle_is_no_failure(serve: Serve) -> None:
    server = serve("llama-server")
    settings, events = choose_models(with_server(server)), list[Event]()
    whole = captions(settings)
    server.fault = "idle"
    assert captions(settings, events) == whole
    assert not said(events)


def test_a_server_that_loads_its_model_is_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("llama-server")
    server.loading, notices = 1, list[Notice]()
    choose_models(with_server(server), notices.append)
    assert said([*notices]) == [f"{server.url} is loading its model: captions begin when it is ready.", BACK]
    monkeypatch.setattr("livetrans.lm.server.transport.LOADING_SECONDS", 0.0)
    server.loading = 99
    with pytest.raises(ServerFault, match="loading or busy"):
        choose_models(with_server(server))


def test_a_certificate_that_is_named_is_trusted(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve("llama-server", certificate=self_signed(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "fullchain.pem"))
    settings = LanguageModelSettings(Path(), server=server.url.replace("127.0.0.1", "localhost"))
    assert open_server(settings, 1, SystemClock()).name == MODEL


def test_a_server_without_encryption_is_no_server_that_is_absent(serve: Serve) -> None:
    url = serve("llama-server").url.replace("http:", "https:")
    with pytest.raises(ServerFault, match=f"{url} does not speak https; write http://"):
        open_server(LanguageModelSettings(Path(), server=url), 1, SystemClock())


@pytest.mark.usefixtures("translator_path")
def test_a_certificate_that_nobody_vouches_for_is_refused_at_the_start(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve("llama-server", certificate=self_signed(tmp_path))
    recorded = tmp_path / "talk.jsonl"
    line = {"segment_id": 0, "revision": 0, "committed": SPEECH, "partial": "", "final": True, "end": 1.0}
    recorded.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert run(["replay", str(recorded), "--speed", "max", "--no-session", "--mt-server", server.url]) == 1
    [sentence] = capsys.readouterr().err.splitlines()
    assert f"the certificate of {server.url} is not valid" in sentence and "trust it" in sentence
    assert not server.requests


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--method window", "--method window needs a server that gives log-probabilities of a draft; drop it or take"),
        ("--method ssbd", "gives no log-probabilities of a draft, which ssbd needs; choose --method rt or prefix"),
        ("--calm still", "--calm still needs a server that gives log-probabilities of a draft"),
        ("--method rt --live-window 3", "--live-window has no effect with --method rt"),
    ],
)
def test_what_a_server_of_text_cannot_do_is_refused(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, sentence: str
) -> None:
    (tmp_path / "talk.jsonl").write_text(
        json.dumps({"segment_id": 0, "revision": 0, "committed": SPEECH, "partial": "", "final": True, "end": 1.0}),
        encoding="utf-8",
    )
    words = ["replay", str(tmp_path / "talk.jsonl"), "--speed", "max", "--no-session"]
    assert run([*words, *options.split(), "--mt-server", serve("llama-server").url]) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert sentence in said


def with_server(server: FakeServer) -> Settings:
    return replace(Settings(), recogniser=None, language_model=LanguageModelSettings(Path(), server=server.url))


def captions(
    settings: Settings, events: list[Event] | None = None, before: Callable[[int], None] = lambda at: None
) -> list[str]:
    """Return the captions of a growing segment, as a run makes them."""
    made: list[Event] = [] if events is None else events
    translating = open_translating(settings, Waits(), made.append)
    for at, one in enumerate(growing()):
        before(at)
        translating.translate(one, settings, made.append)
    translating.close()
    return [one.text for one in made if isinstance(one, Caption)]


def into_two(server: FakeServer, monkeypatch: pytest.MonkeyPatch, *, at_once: bool) -> list[tuple[object, ...]]:
    """Return translations and captions into two languages, of a server that answers several requests at once."""
    settings = replace(with_server(server), decoding=DecodingSettings(maximum_output_tokens=6))
    settings = replace(with_field(settings, "language_model.prompt", "eurollm"), targets=("de", "fr"))
    monkeypatch.setattr("livetrans.lm.server.model._EMBEDDED", re.compile("$^"))  # Which knows one pair only.
    events = list[Event]()
    settings = choose_models(settings)
    translating = open_translating(settings, Waits(), events.append)
    translating = replace(translating, is_parallel=translating.is_parallel and at_once)
    server.most_at_once = 0
    for one in growing("The man who lives"):
        translating.translate(one, settings, events.append)
    translating.close()
    return [
        (type(one), one.language, one.transcript.revision, one.text, getattr(one, "hidden_tokens", None))
        for one in events
        if isinstance(one, Translation | Caption)
    ]


@pytest.mark.parametrize(("dialect", "slots"), [("llama-server", 4), pytest.param("vllm", 1, marks=pytest.mark.long)])
def test_languages_are_asked_for_at_once_where_the_server_batches(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, dialect: str, slots: int
) -> None:
    """The captions and their order are those of one after the other."""
    server = serve(dialect)
    server.slots, server.delay = slots, 0.01
    whole = into_two(server, monkeypatch, at_once=False)
    assert server.most_at_once == 1 and len({one[1] for one in whole}) == 2
    assert into_two(server, monkeypatch, at_once=True) == whole
    assert server.most_at_once == 2


def test_languages_are_asked_for_in_turn_where_the_server_does_not_batch(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dialect in ("llama-server", "completions"):
        server = serve(dialect)
        into_two(server, monkeypatch, at_once=True)
        assert server.most_at_once == 1


@pytest.mark.parametrize("fault", ["500", pytest.param("death", marks=pytest.mark.long)])
def test_languages_that_are_asked_for_at_once_wait_for_their_server_together(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    server = serve("llama-server")
    server.slots = 4
    whole = into_two(server, monkeypatch, at_once=True)
    server.fault, server.faults_left = fault, 0
    given = Translating.translate

    def translate(self: Translating, transcript: Transcript, *rest: Any, **more: Any) -> None:
        server.faults_left = 4 if transcript.revision % 3 == 1 else 0
        given(self, transcript, *rest, **more)

    monkeypatch.setattr(Translating, "translate", translate)
    assert into_two(server, monkeypatch, at_once=True) == whole
    assert not server.faults_left


def test_all_requests_of_a_run_have_one_session_and_runs_have_different_ones(serve: Serve) -> None:
    server = serve("llama-server")
    opened(server)
    [first] = server.sessions
    assert len(first) >= 16
    opened(server)
    assert len(server.sessions) == 2


class Waits(SystemClock):
    """A clock that sleeps for a thousandth of the time."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / 1000)


def test_a_server_that_restarts_is_waited_for(serve: Serve) -> None:
    server = serve("llama-server")
    settings = choose_models(with_server(server))
    whole, events = captions(settings), list[Event]()

    def restart(at: int) -> None:
        if at % 4 == 3:
            server.stop()
            server.start()

    assert captions(settings, events, restart) == whole


def test_a_run_at_full_speed_that_waits_for_its_server_ends_once_it_is_stopped(serve: Serve) -> None:
    """One signal is enough, and resuming its session finds what was not translated."""
    server = serve("llama-server")
    settings = choose_models(with_server(server))
    collected = Collected()
    translating, is_away = watched(settings, Waits(), "is away")

    def heard() -> Iterator[Transcript]:
        for at, one in enumerate(growing()):
            if at == 3:
                server.stop()
            yield one

    loop = PlainLoop(settings, lambda *_: Listening(heard()), translating, SystemClock(), [collected])
    loop.start()
    assert is_away.wait(20)
    assert not loop.join(0.2), "it waits for its server"
    loop.stop()
    with pytest.raises(ServerFault):
        assert loop.join(20), "it waits for ever"
    assert collected.of(RunEnded)[0].reason == "failed"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://lab:8000/v1/", "http://lab:8000"),
        ("https://[::1]:1/a", "https://[::1]:1/a"),
    ],
)
def test_an_address_is_written_as_people_write_it(text: str, url: str) -> None:
    assert parse_server(text) == url


@pytest.mark.parametrize("text", ["ftp://a", "http://", "http://a:b", "http://me:secret@a", "http://a?b"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_server(text)


def test_it_is_said_where_speech_goes_unless_it_stays_here() -> None:
    assert privacy("http://192.168.1.7:8080") == "what is said goes to 192.168.1.7"
    assert [privacy(one) for one in ("", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1")] == [""] * 4


def test_a_key_goes_to_its_server_and_not_over_a_network_without_encryption(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = serve("completions", key="secret")
    with pytest.raises(ServerFault, match="LIVETRANS_MT_KEY"):
        opened(server)
    (tmp_path / "key").write_text("secret\n", encoding="utf-8")
    settings = LanguageModelSettings(Path(), server=server.url, key_file=tmp_path / "key")
    assert open_server(settings, 1, SystemClock()).name == MODEL
    monkeypatch.setenv("LIVETRANS_MT_KEY", "secret")
    assert open_server(replace(settings, key_file=Path()), 1, SystemClock()).name == MODEL
    with pytest.raises(LivetransError, match="not sent unencrypted"):
        open_server(replace(settings, server="http://192.0.2.1:1"), 1, SystemClock())


@pytest.mark.usefixtures("translator_path")
def test_a_session_from_a_server_resumes_on_one_that_is_named_again(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, recorded, session = serve("completions"), tmp_path / "talk.jsonl", tmp_path / "session"
    line = {"segment_id": 0, "revision": 0, "committed": SPEECH, "partial": "", "final": True, "end": 1.0}
    recorded.write_text(json.dumps(line) + "\n", encoding="utf-8")
    replay = ["replay", str(recorded), "--speed", "max", "--session", str(session)]
    assert run([*replay, "--mt-server", server.url]) == 0
    events = (session / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    caption = capsys.readouterr().out
    lost = next(at for at, line in enumerate(events) if '"translation"' in line or '"caption"' in line)
    (session / "events.jsonl").write_text("".join(events[:lost]), encoding="utf-8")
    assert run(["resume", str(session)]) == 2
    assert f"give --mt-server {server.url} to continue with it" in capsys.readouterr().err
    assert run(["resume", str(session), "--mt-server", server.url]) == 0
    assert capsys.readouterr().out == caption != ""
