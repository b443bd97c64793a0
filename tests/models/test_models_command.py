"""`livetrans models` and what a pull changes, as a user sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import ModelError, SourceError
from livetrans.base.languages import LANGUAGES
from livetrans.cli import models, run
from livetrans.config import UNNAMED, LanguageModelSettings, MeetingSettings, RecogniserSettings, Settings
from livetrans.doctor.machine import Machine
from livetrans.models import catalogue, chosen, find
from livetrans.models.catalogue import FASTER_WHISPER, WHISPER_CPP, Catalogue, Entry, entry_of, read_catalogue
from livetrans.models.chosen import choose_models, embedded_notice, has_gpu_engine, languages_of
from livetrans.models.pulls import Progress
from tests.models.hub import Hub
from tests.terminal import as_standard_error

ROOT = Path(__file__).parents[2]
CATALOGUE = read_catalogue(ROOT / "models/catalogue.toml")


@pytest.fixture
def small_pair(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue's small pair on the hub, as files by name only, and a catalogue without the hashes of the real."""
    hub.files = {
        "Systran/faster-whisper-small": {"model.bin": b"1", "config.json": b"{}"},
        "tencent/Hy-MT2-1.8B-GGUF": {"Hy-MT2-1.8B-Q4_K_M.gguf": b"GGUF"},
    }
    entries = tuple(replace(entry, size=None, sha256=None, revision="main") for entry in CATALOGUE.models)
    for module in (find, chosen, models, catalogue):
        monkeypatch.setattr(module, "known_models", lambda: Catalogue(entries, CATALOGUE.purposes))


@pytest.mark.long
def test_a_pulled_pair_runs_a_replay_offline_without_a_further_word(
    small_pair: None, hub: Hub, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the embedded models under the names of the pair."""
    recogniser = ROOT / "models/livetrans-recogniser-en"
    hub.files["Systran/faster-whisper-small"] = {path.name: path.read_bytes() for path in recogniser.iterdir()}
    translator = (ROOT / "models/livetrans-en-de.q8_0.gguf").read_bytes()
    hub.files["tencent/Hy-MT2-1.8B-GGUF"] = {"Hy-MT2-1.8B-Q4_K_M.gguf": translator}
    assert run(["models", "pull", "small", "--from", "en", "--to", "de"]) == 0
    assert "hashes checked" in capfd.readouterr().err
    for name in ("socket.socket.connect", "socket.getaddrinfo"):
        monkeypatch.setattr(name, lambda *_: pytest.fail("the network was opened"))
    demo = str(ROOT / "recordings/demo.flac")
    assert run(["replay", demo, "--speed", "max", "--no-session", "--jsonl=-"]) == 0
    events = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    signature = next(event["signature"] for event in events if event["event"] == "run_started")
    assert signature["translator"] == "Hy-MT2-1.8B-Q4_K_M.gguf"
    finals = [event for event in events if event["event"] == "caption" and event["final"]]
    assert finals[0]["source"] == "Thank you for coming here today." and finals[0]["text"]


def test_the_default_changes_after_a_pull_and_back_after_rm(
    small_pair: None, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    def defaults() -> list[str]:
        capsys.readouterr()
        assert run(["models", "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        return sorted(model["name"] for model in listed["here"] if model["default"])

    embedded = ["livetrans-en-de.q8_0.gguf", "livetrans-recogniser-en"]
    assert defaults() == embedded
    assert run(["models", "pull", "small"]) == 0
    assert defaults() == ["Hy-MT2-1.8B-Q4_K_M.gguf", "faster-whisper-small"]
    hub.requests.clear()
    assert run(["models", "pull", "small"]) == 0 and "is here already" in capsys.readouterr().err
    assert hub.requests == []
    assert run(["models", "rm", "hy-mt2-1.8b"]) == 0
    assert defaults() == ["faster-whisper-small", "livetrans-en-de.q8_0.gguf"]
    assert run(["models", "rm", "whisper-small"]) == 0
    assert defaults() == embedded


def test_the_list_fits_80_columns_and_says_what_can_be_fetched(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("* recogniser") and "livetrans-recogniser-en" in line for line in lines)
    assert any(line.startswith("  hy-mt2-1.8b ") and "1.1 GB" in line for line in lines)
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []


@pytest.mark.parametrize(
    ("languages", "translator"),
    [
        ("--from en,fr,auto --to de,Arabic", "hy-mt2-1.8b"),
        ("--from en --to de,sv", "qwen3-4b"),
        ("--from en --to Amharic", "gemma-4-e2b"),
    ],
)
def test_a_pair_knows_all_languages_of_the_run(
    hub: Hub, home: Path, capsys: pytest.CaptureFixture[str], languages: str, translator: str
) -> None:
    run(["models", "pull", "small", *languages.split()])
    assert f"{translator} from " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("theirs", "read", "mine", "mine_to"),
    [("en", "de", "de", "en"), ("sv", "de", "fr", "sv"), ("fr", "de", "sv", "fr"), ("auto", "sv", "sv", "none")],
)
def test_the_pull_that_a_meeting_is_advised_fetches_models_of_both_tracks(
    theirs: str, read: str, mine: str, mine_to: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(sources=(theirs,), targets=(read,), meeting=MeetingSettings(mine, mine_to))
    with pytest.raises(ModelError, match="models pull") as missing:
        choose_models(settings)
    fetched: list[Entry] = []
    monkeypatch.setattr(models, "_pull_all", lambda entries, **_: bool(fetched.extend(entries)) or True)
    assert run(str(missing.value).split("`")[1].split()[1:]) == 0
    assert len(fetched) == 2 and all(entry.fits(languages_of(settings)) for entry in fetched)


def test_a_recogniser_of_english_does_not_serve_a_track_of_german(home: Path) -> None:
    settings = Settings(sources=("auto",), targets=("en",), meeting=MeetingSettings("de", "none"))
    with pytest.raises(ModelError, match="no installed recogniser understands de"):
        choose_models(replace(settings, language_model=LanguageModelSettings(Path("livetrans-en-de"))))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pull", "nosuch"], "no model 'nosuch' in the catalogue; `livetrans models` lists them"),
        (["pull", "whisper-smal"], "did you mean whisper-small?"),
        (["pull", "https://example.org/owner/name"], "owner/repository:file.gguf"),
        (["pull", "owner/.."], "owner/repository:file.gguf"),
        (["pull", "unsloth/Qwen3.5-4B-GGUF:Q4_K_M"], "keeps a state that cannot be rewound"),
        (["pull", "owner/name:weights.safetensors"], "is not a GGUF file"),
        (["pull", "owner/name:big-00001-of-00003.gguf"], "one of several parts"),
        (["pull", "small", "--from", "Cantonese"], "small has no recogniser for yue"),
        (["pull", "small", "--between", "en,de", "--from", "fr"], "--between replaces --from and --to"),
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


@pytest.mark.parametrize(
    ("machine", "library", "recogniser"),
    [
        ("arm64", SimpleNamespace(origin="library.so"), "ggml-small"),
        ("arm64", None, "whisper-small"),
        ("x86_64", SimpleNamespace(origin="library.so"), "whisper-small"),
    ],
)
def test_a_pull_chooses_by_machine_and_engine(
    machine: str, library: object, recogniser: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen, "has_gpu_engine", has_gpu_engine)
    monkeypatch.setattr(chosen, "platform", SimpleNamespace(system=lambda: "Darwin", machine=lambda: machine))
    monkeypatch.setattr(chosen, "find_spec", lambda name: library)
    fetched: list[str] = []
    monkeypatch.setattr(models, "_pull_one", lambda entry: fetched.append(entry.name))
    assert run(["models", "pull", "small"]) == 0
    assert run(["models", "pull", "small", "--engine", "whisper.cpp"]) == 0
    assert fetched[::2] == [recogniser, "ggml-small"]


def test_the_catalogue_is_whole() -> None:
    names = [entry.name for entry in CATALOGUE.models]
    assert len(set(names)) == len(names) and list(CATALOGUE.purposes) == ["laptop", "small", "good", "best"]
    assert len({entry.local_name for entry in CATALOGUE.models}) == len(names)
    for entry in CATALOGUE.models:
        assert entry.kind in ("recogniser", "translator") and entry.why and entry.licence
        assert entry.revision == "main" or len(entry.revision) == 40
        assert entry.sha256 is None or len(entry.sha256) == 64
        assert entry.codes or entry.prompt == "gemma4", "no list is published"
    for name, purpose in CATALOGUE.purposes.items():
        assert {*purpose.recognisers, *purpose.translators} <= set(names)
        for target, engine in product(LANGUAGES, (FASTER_WHISPER, WHISPER_CPP)):
            if target != "en":
                languages = languages_of(Settings(targets=(target,)))
                recogniser, translator = CATALOGUE.pair(name, languages, engines=(engine,))
                assert recogniser.fits(languages) and translator.fits(languages)
                assert recogniser.engine == engine


@pytest.mark.parametrize(
    ("address", "revision"),
    [
        ("owner/small:Q4.gguf", "main"),
        ("hf.co/owner/small:Q4.gguf", "main"),
        ("https://huggingface.co/owner/small/blob/main/Q4.gguf", "main"),
        ("https://www.huggingface.co/owner/small/resolve/c0ffee/Q4.gguf?download=true", "c0ffee"),
    ],
)
def test_a_model_is_named_by_its_repository_or_its_page(address: str, revision: str) -> None:
    entry = entry_of(address)
    assert (entry.name, entry.repository, entry.file) == ("owner/small:Q4.gguf", "owner/small", "Q4.gguf")
    assert entry.revision == revision
    folder = entry_of(address.partition(":Q4")[0].partition("/blob")[0].partition("/resolve")[0] + "/")
    assert (folder.name, folder.kind) == ("owner/small", "recogniser")


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine is a laptop without a GPU, whatever it is."""
    monkeypatch.setattr(models, "this_machine", lambda: Machine(4, 8 * 10**9, None, 1.0))
    monkeypatch.setattr(chosen, "has_gpu_engine", lambda: False)
    monkeypatch.setattr(chosen, "has_nvidia", lambda: False)


def offer(
    monkeypatch: pytest.MonkeyPatch,
    answer: str | None,
    pull: Callable[[Entry], None] | None = None,
    *,
    asr: Path = UNNAMED,
    yes: bool = False,
    to: str = "de",
) -> list[str]:
    """What `mic` fetches for English to German; `answer` None stands for a pipe in place of a terminal."""
    pulled: list[str] = []
    monkeypatch.setattr(models, "_is_at_a_terminal", lambda: answer is not None)
    monkeypatch.setattr(models, "is_offline", lambda: False)
    monkeypatch.setattr(models, "_pull_one", pull or (lambda entry: pulled.append(entry.name)))
    answers = iter((answer or "").split("|"))

    def prompt(text: str) -> str:
        if (given := next(answers)) == "\x03":
            raise KeyboardInterrupt
        return given

    monkeypatch.setattr("click.termui.visible_prompt_func", prompt)
    models.offer_models(Settings(RecogniserSettings(asr), targets=(to,)), yes=yes)
    return pulled


@pytest.mark.usefixtures("laptop")
def test_mic_offers_a_recogniser_of_people_and_takes_no_for_an_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offer(monkeypatch, "") == []
    printed = capsys.readouterr().err
    assert "Captions for people who speak English need models that are not on this machine." in printed
    assert "Continuing with livetrans-recogniser-en and livetrans-en-de.q8_0.gguf" in printed
    assert offer(monkeypatch, "y") == [], "a no is remembered"
    assert capsys.readouterr().err == ""
    assert offer(monkeypatch, None, yes=True) == ["parakeet-110m-en", "hy-mt2-1.8b"]
    assert offer(monkeypatch, "y", to="fr") == ["parakeet-110m-en", "hy-mt2-1.8b"], "nothing else can run"
    assert offer(monkeypatch, "yep| YES ", asr=Path("/my/recogniser")) == ["hy-mt2-1.8b"], "another question"
    assert "invalid input" in capsys.readouterr().err


@pytest.mark.usefixtures("laptop")
def test_mic_asks_nothing_without_a_terminal_for_an_embedded_model_or_where_models_for_people_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offer(monkeypatch, None) == []
    assert offer(monkeypatch, "y", asr=Path("livetrans-recogniser-en")) == []
    folder = find.pull_folder() / "faster-whisper-small"
    folder.mkdir(parents=True)
    (folder / "model.bin").touch()
    assert offer(monkeypatch, "y") == ["hy-mt2-1.8b"]
    (folder.parent / "mine.gguf").write_bytes(b"GGUF")
    assert offer(monkeypatch, "y") == []


@pytest.mark.usefixtures("laptop")
def test_a_fetch_that_fails_or_a_question_that_is_left_ends_the_command_and_is_no_no(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable(entry: Entry) -> None:
        raise ModelError("huggingface.co cannot be reached")

    with pytest.raises(ModelError, match="cannot be reached"):
        offer(monkeypatch, "y", pull=unreachable)

    with pytest.raises(click.Abort):
        offer(monkeypatch, "\x03")
    assert capsys.readouterr().err.endswith("\n")
    assert offer(monkeypatch, "y") == ["parakeet-110m-en", "hy-mt2-1.8b"]


@pytest.mark.parametrize("options", [[], ["--yes"], ["--device", "no such"]])
def test_mic_looks_for_the_microphone_before_it_offers_models(
    options: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none_there(device: str | None, *_: object) -> None:
        raise SourceError("There is no microphone.")

    monkeypatch.setattr("livetrans.audio.live.Microphone", none_there)
    monkeypatch.setattr(models, "offer_models", lambda *_, **__: pytest.fail("offered before"))
    assert run(["mic", *options]) == 1
    assert "There is no microphone." in capsys.readouterr().err


def test_the_embedded_recogniser_says_what_it_is_unless_a_shipped_recording_is_heard(tmp_path: Path) -> None:
    embedded, other = ROOT / "models/livetrans-recogniser-en", tmp_path / "faster-whisper-small"

    def notice(recogniser: Path | None, file: Path | None) -> str | None:
        settings = Settings(RecogniserSettings(recogniser) if recogniser else None, LanguageModelSettings(tmp_path))
        warning = embedded_notice(settings, file)
        return warning.text if warning else None

    assert "livetrans models pull --from en --to de" in (notice(embedded, None) or "")
    assert "synthetic voices only" in (notice(embedded, tmp_path / "demo.flac") or "")
    assert notice(embedded, ROOT / "recordings/demo.flac") is None
    assert notice(other, None) is None and notice(None, None) is None


def test_the_bar_says_what_arrived_and_ctrl_c_that_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(entry: Entry, folder: Path, progress: Progress) -> Path:
        progress(4_000_000, 10_000_000)
        raise KeyboardInterrupt

    terminal = as_standard_error(monkeypatch)
    monkeypatch.setattr(models, "pull", interrupted)
    with pytest.raises(KeyboardInterrupt):
        models._pull_one(CATALOGUE.models[0])
    shown = terminal.getvalue()
    assert f"{CATALOGUE.models[0].name}: 4.0 MB of 10.0 MB" in shown
    assert shown.endswith("what arrived is kept; the same command continues from there\n")


LAPTOPS = {"2 cores": (2, 8, None, 1.0), "4 cores": (4, 8, None, 0.6), "8 cores": (8, 16, None, 0.3)}
SLOW, SMALL, GPU = (2, 8, None, 2.5), (4, 4, None, 0.6), (8, 8, "faster-whisper", 1.0)


@pytest.mark.parametrize(
    ("values", "languages", "recogniser"),
    [
        (LAPTOPS["2 cores"], "--from en --to de", "parakeet-110m-en"),
        (LAPTOPS["4 cores"], "--from en --to de", "parakeet-0.6b-en"),
        (LAPTOPS["8 cores"], "--from en --to de", "parakeet-0.6b-en"),
        (SLOW, "--from en --to de", "parakeet-110m-en"),
        (SMALL, "--from en --to de", "parakeet-110m-en"),
        (GPU, "--from en --to de", "whisper-small"),
        (LAPTOPS["2 cores"], "--from de --to en", "parakeet-0.6b"),
        (LAPTOPS["8 cores"], "--from en,fr --to de", "parakeet-0.6b"),
        (LAPTOPS["8 cores"], "--from ja --to en", "whisper-base"),
        (LAPTOPS["8 cores"], "--from auto --to en", "whisper-base"),
        (LAPTOPS["8 cores"], "--between en,de", "whisper-base"),
        (LAPTOPS["8 cores"], "--engine whisper.cpp", "ggml-base"),
        (GPU, "--engine onnx", "parakeet-0.6b-en"),
    ],
)
def test_a_pull_without_a_name_takes_what_keeps_up_on_the_machine(
    values: tuple[int, int, str | None, float],
    languages: str,
    recogniser: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cores, memory, gpu, slowness = values
    machine = Machine(cores, memory * 10**9, gpu, slowness)
    monkeypatch.setattr(models, "this_machine", lambda: machine)
    fetched: list[str] = []
    monkeypatch.setattr(models, "_pull_one", lambda entry: fetched.append(entry.name))
    assert run(["models", "pull", *languages.split()]) == 0
    assert fetched == [recogniser, "hy-mt2-1.8b"]
    printed = capsys.readouterr().err
    assert f"This machine: {cores} cores, {memory}.0 GB of memory, {'a GPU' if gpu else 'no GPU'}" in printed
    assert ("half of the words shown within about" in printed) == (gpu is None and recogniser != "ggml-base")


@given(st.floats(0.1, 5), st.floats(0.1, 5), st.integers(1, 64))
def test_a_slower_machine_is_never_given_dearer_models(one: float, other: float, memory: int) -> None:
    settings = Settings()
    fast, slow = (Machine(4, memory * 10**9, None, slowness) for slowness in sorted((one, other)))
    costs = [[entry.pass_seconds or 0 for entry in machine.pair(settings)[:1]] for machine in (fast, slow)]
    assert costs[1] <= costs[0]
    [quick, late] = (machine.lag(*machine.pair(settings)) or 0 for machine in (fast, slow))
    assert quick > 1.0 and late > 1.0


@pytest.mark.usefixtures("home", "laptop")
def test_what_is_proposed_is_fetched_from_the_hub_and_runs_first(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The multilingual transducer's models are in a folder of their repository, its vocabulary above it."""
    wanted = {"int8/encoder-model.int8.onnx", "int8/decoder_joint-model.int8.onnx", "vocab.txt", "config.json"}
    others = {"encoder-model.onnx", "fp16/encoder-model.fp16.onnx", "w2a8/encoder-model.int8.onnx", "nemo128.onnx"}
    hub.files = {
        "Olicorne/parakeet-tdt-0.6b-v3-ultra-onnx": {name: name.encode() for name in sorted(wanted | others)},
        "tencent/Hy-MT2-1.8B-GGUF": {"Hy-MT2-1.8B-Q4_K_M.gguf": b"GGUF"},
        "Systran/faster-whisper-small": {"model.bin": b"1", "config.json": b"{}"},
    }
    entries = tuple(replace(entry, size=None, sha256=None, revision="main") for entry in CATALOGUE.models)
    for module in (find, chosen, models, catalogue):
        monkeypatch.setattr(module, "known_models", lambda: Catalogue(entries, CATALOGUE.purposes))
    assert run(["models", "pull", "--from", "de", "--to", "en"]) == 0
    assert "Ready: livetrans mic --from de --to en" in capsys.readouterr().err
    folder = find.pull_folder() / "parakeet-tdt-0.6b-v3-ultra-onnx"
    assert {path.name for path in folder.iterdir()} == {name.rpartition("/")[2] for name in wanted}
    assert (folder / "encoder-model.int8.onnx").read_text() == "int8/encoder-model.int8.onnx"
    assert run(["models", "verify"]) == 0 and run(["models", "pull", "whisper-small"]) == 0
    recogniser = choose_models(Settings(sources=("de",), targets=("en",))).recogniser
    assert recogniser and recogniser.model == folder, "though the other was fetched later"
