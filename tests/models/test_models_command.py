"""`livetrans models` and what a pull changes, as a user sees them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from livetrans.cli import fetch, mic, models, run
from livetrans.config import UNNAMED, LanguageModelSettings, RecogniserSettings, Settings
from livetrans.errors import ModelError, SourceError
from livetrans.models import find
from livetrans.models.catalogue import Entry, read_catalogue
from livetrans.models.chosen import embedded_notice
from livetrans.models.pulls import Progress
from tests.models.hub import Hub
from tests.terminal import as_standard_error

ROOT = Path(__file__).parents[2]
CATALOGUE = read_catalogue(ROOT / "models/catalogue.toml")
SPOKEN = "Thank you for coming here today."


@pytest.fixture
def small_pair(hub: Hub) -> None:
    """The embedded models under the names of the catalogue's small pair; their hashes are the hub's own."""
    embedded = ROOT / "models/livetrans-recogniser-en"
    hub.files = {
        "Systran/faster-whisper-small": {path.name: path.read_bytes() for path in embedded.iterdir()},
        "tencent/Hy-MT2-1.8B-GGUF": {
            "Hy-MT2-1.8B-Q4_K_M.gguf": (ROOT / "models/livetrans-en-de.q8_0.gguf").read_bytes()
        },
    }


@pytest.fixture
def other_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue without the hashes of the real models."""
    entries = tuple(
        Entry(entry.name, entry.kind, entry.repository, entry.file, prompt=entry.prompt, licence=entry.licence)
        for entry in CATALOGUE.models
    )
    changed = type(CATALOGUE)(entries, CATALOGUE.purposes)
    for module in (find, fetch, models):
        monkeypatch.setattr(module, "known_models", lambda: changed)


def forbid_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the network was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_a_pulled_pair_runs_a_replay_offline_without_a_further_word(
    small_pair: None,
    other_hashes: None,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["models", "pull", "small", "--from", "en", "--to", "de"]) == 0
    assert "hashes checked" in capfd.readouterr().err
    forbid_sockets(monkeypatch)
    demo = str(ROOT / "recordings/demo.flac")
    assert run(["replay", demo, "--speed", "max", "--no-session", "--jsonl=-"]) == 0
    events = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    signature = next(event["signature"] for event in events if event["event"] == "run_started")
    assert signature["translator"] == "Hy-MT2-1.8B-Q4_K_M.gguf"
    finals = [event for event in events if event["event"] == "caption" and event["final"]]
    assert finals[0]["source"] == SPOKEN and finals[0]["text"]


def test_the_default_changes_after_a_pull_and_back_after_rm(
    small_pair: None, other_hashes: None, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def defaults() -> list[str]:
        capsys.readouterr()
        assert run(["models", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        return [model["name"] for model in listed["here"] if model["default"]]

    embedded = ["livetrans-en-de.q8_0.gguf", "livetrans-recogniser-en"]
    assert sorted(defaults()) == embedded
    assert run(["models", "pull", "small"]) == 0
    assert sorted(defaults()) == ["Hy-MT2-1.8B-Q4_K_M.gguf", "faster-whisper-small"]
    assert run(["models", "rm", "hy-mt2-1.8b"]) == 0
    assert sorted(defaults()) == ["faster-whisper-small", "livetrans-en-de.q8_0.gguf"]
    assert run(["models", "rm", "whisper-small"]) == 0
    assert sorted(defaults()) == embedded


def test_a_pull_in_a_fresh_process_by_the_environment_alone(small_pair: None, hub: Hub, home: Path) -> None:
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "livetrans", "models", "pull"]
    named = [*command, "tencent/Hy-MT2-1.8B-GGUF:Hy-MT2-1.8B-Q4_K_M.gguf"]
    done = subprocess.run(named, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path = home / "data/livetrans/models/Hy-MT2-1.8B-Q4_K_M.gguf"
    assert path.read_bytes() == hub.files["tencent/Hy-MT2-1.8B-GGUF"][path.name]
    again = subprocess.run([*command, "hy-mt2-1.8b"], env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0 and "is here already" in again.stderr
    offline = {**environment, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([*command, "whisper-small"], env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "HF_HUB_OFFLINE" in done.stderr and "Traceback" not in done.stderr


def test_a_killed_pull_goes_on_where_it_was_killed(hub: Hub, home: Path) -> None:
    data = b"GGUF" + bytes(30_000_000)
    hub.files = {"owner/name": {"large.gguf": data}}
    environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "livetrans", "models", "pull", "owner/name:large.gguf"]
    pull = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    hub.while_serving = lambda: kill_when_something_is_here(pull, home)
    assert pull.wait() == -signal.SIGKILL
    hub.while_serving = None
    hub.requests.clear()
    assert subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False).returncode == 0
    assert (find.pull_folder() / "large.gguf").read_bytes() == data
    [begun] = [asked for path, asked in hub.requests if "/bytes/" in path]
    assert begun is not None and begun != "bytes=0-"


def kill_when_something_is_here(program: subprocess.Popen[bytes], home: Path) -> None:
    while not any(path.stat().st_size for path in home.rglob("large.gguf") if path.is_file()):
        threading.Event().wait(0.01)
    program.kill()


def test_the_list_fits_80_columns_and_says_what_can_be_fetched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("* recogniser") and "livetrans-recogniser-en" in line for line in lines)
    assert any(line.startswith("  hy-mt2-1.8b ") and "1.1 GB" in line for line in lines)
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pull", "nosuch"], "no model 'nosuch' in the catalogue; `livetrans models` lists them"),
        (["pull", "whisper-smal"], "did you mean whisper-small?"),
        (["pull", "https://example.org/owner/name"], "owner/repository:file.gguf"),
        (["pull", "owner/.."], "owner/repository:file.gguf"),
        (["pull", "unsloth/Qwen3.5-4B-GGUF:Q4_K_M"], "keeps a state that cannot be rewound"),
        (["pull", "owner/name:weights.safetensors"], "is not a GGUF file"),
        (["pull", "owner/name:../evil.gguf"], "is not a GGUF file"),
        (["pull", "owner/name:big-00001-of-00003.gguf"], "one of several parts"),
        (["pull", "small", "--to", "Klingon"], "unknown language"),
        (["pull", "small", "--from", "Cantonese"], "small has no recogniser for yue"),
        (["pull", "tower-plus-2b"], "not for commercial use; add --yes"),
        (["rm", "nosuch"], "no model 'nosuch' on this machine"),
        (["verify", "livetrans-recogniser-en"], "was not fetched by livetrans"),
        (["--json", "verify"], "--json is for the list"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run(["models", *arguments]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("livetrans: ") and sentence in last


def test_what_does_not_fit_the_memory_is_marked(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=4_000_000_000))
    assert run(["models"]) == 0
    listed = re.split(r"\n  (?! )", capsys.readouterr().out)
    marked = {about.split()[0] for about in listed if "more memory than this machine" in about}
    assert {"hy-mt2-7b", "eurollm-9b"} <= marked and not {"whisper-small", "hy-mt2-1.8b"} & marked


@pytest.mark.parametrize(("machine", "is_known"), [("Darwin arm64", True), ("Linux x86_64", False)])
def test_a_pull_says_beforehand_how_fast_the_pair_is_on_such_a_machine(
    machine: str, is_known: bool, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    system, processor = machine.split()
    monkeypatch.setattr(fetch, "platform", SimpleNamespace(system=lambda: system, machine=lambda: processor))
    monkeypatch.setattr(fetch, "_pull_one", lambda entry: fetch.say("fetched"))
    assert run(["models", "pull", "small"]) == 0
    before, _, after = capsys.readouterr().err.partition("fetched")
    assert ("0.59 to 0.76 s of computing for 1 s of speech" in before and "WhisperLiveKit" in before) == is_known
    assert "doctor` measures" in after


def test_the_catalogue_is_whole() -> None:
    names = [entry.name for entry in CATALOGUE.models]
    assert len(set(names)) == len(names) and set(CATALOGUE.purposes) == {"small", "good", "best"}
    assert len({entry.local_name for entry in CATALOGUE.models}) == len(names)
    for entry in CATALOGUE.models:
        assert entry.kind in ("recogniser", "translator") and entry.why and entry.licence
        assert entry.revision == "main" or len(entry.revision) == 40
        assert entry.sha256 is None or len(entry.sha256) == 64
        assert entry.codes or entry.prompt == "gemma4", "no list is published"
    assert {name for speed in CATALOGUE.speeds for name in speed.models} <= set(names)
    for purpose in CATALOGUE.purposes.values():
        assert {*purpose.recognisers, *purpose.translators} <= set(names)


@pytest.mark.parametrize("purpose", list(CATALOGUE.purposes))
@pytest.mark.parametrize("target", ["de", "fr", "sv", "zh-Hant", "pt-BR", "ja", "sw"])
def test_each_purpose_has_a_translator_that_knows_the_pair(purpose: str, target: str) -> None:
    recogniser, translator = CATALOGUE.pair(purpose, "en", target)
    assert recogniser.knows("en") and translator.knows("en", target)


def offer(
    monkeypatch: pytest.MonkeyPatch,
    answer: str | Iterator[str] | None,
    pull: Callable[[Entry], None] | None = None,
    **named: str | None,
) -> list[str]:
    """What `mic` fetches for English to German; `answer` None stands for a pipe in place of a terminal."""
    pulled: list[str] = []
    monkeypatch.setattr(fetch, "_is_asked_on_a_terminal", lambda: answer is not None)
    monkeypatch.setattr(fetch, "is_offline", lambda: False)
    monkeypatch.setattr(fetch, "_pull_one", pull or (lambda entry: pulled.append(entry.name)))
    monkeypatch.setattr(
        "click.termui.visible_prompt_func", lambda text: answer if isinstance(answer, str) else next(answer)
    )
    asr, mt = (Path(name) if (name := named.get(kind)) else UNNAMED for kind in ("asr", "mt"))
    settings = Settings(RecogniserSettings(asr), LanguageModelSettings(mt))
    fetch.offer_models(settings, yes=bool(named.get("yes")))
    return pulled


def test_mic_offers_a_recogniser_of_people_and_takes_no_for_an_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offer(monkeypatch, "") == []
    printed = capsys.readouterr().err
    assert "need models that are not on this machine" in printed
    assert "Going on with livetrans-recogniser-en and livetrans-en-de.q8_0.gguf" in printed
    assert offer(monkeypatch, "y") == [], "a no is remembered"
    assert capsys.readouterr().err == ""
    assert offer(monkeypatch, None, yes="yes") == ["whisper-small", "hy-mt2-1.8b"]
    assert offer(monkeypatch, "y", asr="/my/recogniser") == ["hy-mt2-1.8b"], "another question"


def test_mic_fetches_after_a_yes_and_asks_nothing_without_a_terminal_or_for_an_embedded_model(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offer(monkeypatch, "y") == ["whisper-small", "hy-mt2-1.8b"]
    assert offer(monkeypatch, None) == []
    assert offer(monkeypatch, "y", asr="livetrans-recogniser-en") == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_fetch_that_fails_offers_the_embedded_models(
    goes_on: bool, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(entry: Entry) -> None:
        raise ModelError("huggingface.co cannot be reached")

    answers = iter(["y", "y" if goes_on else "n"])
    with nullcontext() if goes_on else pytest.raises(click.Abort):
        offer(monkeypatch, answers, pull=unreachable)
    assert "livetrans: huggingface.co cannot be reached" in capsys.readouterr().err
    assert offer(monkeypatch, "y") == ["whisper-small", "hy-mt2-1.8b"], "this was no no"


def test_the_offer_asks_again_and_ctrl_c_ends_the_command(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["yep", " YES "])
    assert offer(monkeypatch, answers) == ["whisper-small", "hy-mt2-1.8b"]
    assert "livetrans: answer y or n.\n" in capsys.readouterr().err

    def leave() -> Iterator[str]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(click.Abort):
        offer(monkeypatch, leave())
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize("options", [[], ["--yes"], ["--device", "no such"]])
def test_mic_looks_for_the_microphone_before_it_offers_models(
    options: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none_there(device: str | None, *_: object) -> None:
        raise SourceError("There is no microphone.")

    monkeypatch.setattr("livetrans.audio.microphone.Microphone", none_there)
    monkeypatch.setattr(mic, "offer_models", lambda *_, **__: pytest.fail("offered before"))
    assert run(["mic", *options]) == 1
    assert "There is no microphone." in capsys.readouterr().err


def test_mic_offers_nothing_where_models_for_people_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find.pull_folder() / "faster-whisper-small"
    folder.mkdir(parents=True)
    (folder / "model.bin").touch()
    assert offer(monkeypatch, "y") == ["hy-mt2-1.8b"]
    (folder.parent / "mine.gguf").write_bytes(b"GGUF")
    assert offer(monkeypatch, "y") == []


def test_the_embedded_recogniser_says_what_it_is_unless_a_shipped_recording_is_heard(tmp_path: Path) -> None:
    embedded, other = ROOT / "models/livetrans-recogniser-en", tmp_path / "faster-whisper-small"

    def notice(recogniser: Path | None, file: Path | None) -> str | None:
        heard = RecogniserSettings(recogniser) if recogniser else None
        said = embedded_notice(Settings(heard, LanguageModelSettings(tmp_path)), file)
        return said.text if said else None

    assert "livetrans models pull small --from en --to de" in (notice(embedded, None) or "")
    assert "synthetic voices only" in (notice(embedded, tmp_path / "demo.flac") or "")
    assert notice(embedded, ROOT / "recordings/demo.flac") is None
    assert notice(other, None) is None and notice(None, None) is None


def test_the_bar_says_what_arrived_and_ctrl_c_that_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(entry: Entry, folder: Path, progress: Progress, wait: Callable[[], None]) -> Path:
        progress(4_000_000, 10_000_000)
        wait()
        raise KeyboardInterrupt

    terminal = as_standard_error(monkeypatch)
    monkeypatch.setattr(fetch, "pull", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch._pull_one(CATALOGUE.models[0])
    said = terminal.getvalue()
    assert f"{CATALOGUE.models[0].name}: 4.0 MB of 10.0 MB" in said
    assert "waiting until it has ended\n" in said
    assert said.endswith("what arrived is kept; the same command goes on from there\n")
