"""whisper.cpp as the engine: the embedded recogniser's words and times are the other engine's; faults; languages."""

from __future__ import annotations

import gc
import os
import runpy
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from random_whisper import hiss, write_random_ggml

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.base.errors import ModelError, UsageError
from livetrans.config import RecogniserSettings
from livetrans.events import SAMPLE_RATE, Event, Notice
from livetrans.metrics.monitor import resident_memory
from livetrans.models.chosen import GPU, GPU_UNUSED, has_gpu_engine
from livetrans.run import opening
from livetrans.run.opening import open_recogniser
from livetrans.speech.whisper import WhisperRecogniser
from livetrans.speech.whisper_cpp import WhisperCppRecogniser, gpu_in, read_head
from livetrans.speech.whisper_pass import SPARE_TOKENS

ROOT = Path(__file__).parents[2]
RECIPE = runpy.run_path(str(ROOT / "models/recipes/recogniser/ggml.py"))


@pytest.fixture(scope="module")
def recogniser(cpp_recogniser_path: Path) -> WhisperCppRecogniser:
    opened = open_recogniser(RecogniserSettings(cpp_recogniser_path, threads=1))
    assert isinstance(opened, WhisperCppRecogniser)
    return opened


@pytest.fixture(scope="module")
def other(recogniser_path: Path) -> WhisperRecogniser:
    return WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))


def sound(name: str, start: float, end: float) -> np.ndarray:
    chunks = AudioFile(ROOT / "recordings" / name, ManualClock(), real_time=False)
    samples = np.concatenate([chunk.samples for chunk in chunks])
    part: np.ndarray = samples[round(start * SAMPLE_RATE) : round(end * SAMPLE_RATE)].astype(np.float32) / 32_768
    return part


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The weights of a file in whisper.cpp's format."""
    weights: dict[str, np.ndarray] = {}
    with path.open("rb") as file:
        file.seek(48)
        rows, columns = struct.unpack("<2i", file.read(8))
        file.seek(4 * rows * columns, os.SEEK_CUR)
        for _ in range(*struct.unpack("<i", file.read(4))):
            file.seek(*struct.unpack("<i", file.read(4)), os.SEEK_CUR)
        while head := file.read(12):
            dimensions, length, is_half = struct.unpack("<3i", head)
            shape = struct.unpack(f"<{dimensions}i", file.read(4 * dimensions))[::-1]
            kind = np.dtype("<f2" if is_half else "<f4")
            name = file.read(length).decode()
            weights[name] = np.frombuffer(file.read(kind.itemsize * int(np.prod(shape))), kind).reshape(shape)
    return weights


def test_the_converted_model_has_the_same_weights_in_every_layer(
    recogniser_path: Path, cpp_recogniser_path: Path
) -> None:
    original = RECIPE["named_as_openai"](RECIPE["read_weights"](recogniser_path / "model.bin"))
    converted = read_weights(cpp_recogniser_path)

    def are_equal(one: np.ndarray, two: np.ndarray) -> bool:
        return one.shape == two.shape and np.allclose(one, two, rtol=1e-3, atol=1e-6)  # float16

    for name, weight in original.items():
        # The decoder has a layer more, in front, that adds nothing.
        layer = int(name.split(".")[2]) if name.startswith("decoder.blocks") else None
        moved = name if layer is None else name.replace(f"blocks.{layer}", f"blocks.{layer + 1}", 1)
        if name == "decoder.token_embedding.weight":
            assert are_equal(converted[name][:600], weight[:600])
            assert are_equal(converted[name][-1501:], weight[-1501:])
        else:
            assert are_equal(converted[moved], weight), name
    assert len(converted) == len(original) + 24
    assert not any(converted[f"decoder.blocks.0.{part}"].any() for part in ("attn.out.weight", "mlp.2.bias"))


def test_words_and_times_are_those_of_the_other_engine(
    recogniser: WhisperCppRecogniser, other: WhisperRecogniser
) -> None:
    for start, end, prompt in ((0.0, 3.0, ""), (3.0, 11.0, "Thank you for coming here today.")):
        samples = sound("demo.flac", start, end)
        mine, theirs = recogniser.recognise(samples, prompt=prompt), other.recognise(samples, prompt=prompt)
        assert [word.text for word in mine.words] == [word.text for word in theirs.words] != []
        assert min(word.probability for word in mine.words) < 0.99
        for one, two in zip(mine.words, theirs.words, strict=True):
            assert one.start == pytest.approx(two.start, abs=0.061)
            assert one.end == pytest.approx(two.end, abs=0.061)
            assert one.probability == pytest.approx(two.probability, abs=0.1)
        assert mine.segment_ends == pytest.approx(theirs.segment_ends, abs=0.061)
    assert recogniser.traits == other.traits


def test_prompts_are_the_same_tokens(recogniser: WhisperCppRecogniser, other: WhisperRecogniser) -> None:
    text = " We'll meet Dr. O'Neill at 3.14 -\n\n ça va? 漢字  'quoted'"
    tokens = recogniser._tokenizer("en").encode(text)
    assert tokens == other._tokenizer("en").encode(text)
    assert recogniser._tokenizer("en").decode(tokens) == text


def test_no_word_comes_from_short_sound_silence_or_after_the_end(recogniser: WhisperCppRecogniser) -> None:
    for seconds in (0.001, 0.05, 0.12, 0.15, 0.3):
        words = recogniser.recognise(sound("demo.flac", 0.5, 0.5 + seconds)).words
        assert all(0 <= word.start <= word.end <= seconds + 0.02 for word in words)
    assert recogniser.recognise(np.zeros(4 * SAMPLE_RATE, np.float32)).words == ()
    assert recogniser.recognise(np.zeros(0, np.float32)).words == ()
    growing = sound("demo.flac", 0.0, 3.0)
    for length in (0.7, 1.6, 2.3):
        hypothesis = recogniser.recognise(growing[: round(length * SAMPLE_RATE)])
        assert all(0 <= word.start <= word.end <= length + 0.02 for word in hypothesis.words)
        assert all(0 < end <= length + 0.02 for end in hypothesis.segment_ends)


def test_a_process_that_crashes_is_started_again_and_nothing_is_lost(cpp_recogniser_path: Path) -> None:
    recogniser = WhisperCppRecogniser(RecogniserSettings(cpp_recogniser_path, threads=1))
    shared = recogniser.in_language("en")
    samples = sound("demo.flac", 0.0, 3.0)
    before = recogniser.recognise(samples)
    crashed = psutil.Process(recogniser._process.id)
    assert resident_memory() >= crashed.memory_info().rss + psutil.Process().memory_info().rss * 0.9
    os.kill(crashed.pid, signal.SIGSEGV)
    with pytest.raises(ModelError, match=r"whisper\.cpp has ended"):
        recogniser.recognise(samples)
    recogniser.reload()
    assert recogniser.recognise(samples) == before == shared.recognise(samples)
    living = recogniser._process.id
    del recogniser, shared
    gc.collect()
    assert not psutil.pid_exists(crashed.pid) and not psutil.pid_exists(living)


@pytest.mark.parametrize(
    ("lines", "gpu"),
    [
        ("device 0: CPU (type: 0)|no GPU found", None),
        ("device 0: CUDA0 (type: 1)|found GPU device 0: CUDA0 (type: 1, cnt: 0)|using CUDA0 backend", "CUDA0"),
        ("device 0: MTL0 (type: 1)|using MTL0 backend", "MTL0"),
        ("device 0: MTL0 (type: 1)|using MTL0 backend|failed to initialize MTL0 backend", None),
        ("", None),
    ],
)
def test_the_gpu_is_the_one_that_was_started(lines: str, gpu: str | None) -> None:
    log = "".join(f"whisper_backend_init_gpu: {line}\n" for line in lines.split("|"))
    assert gpu_in(f"{log}whisper_backend_init: using BLAS backend\n") == gpu


def test_a_gpu_that_could_not_be_started_is_said(cpp_recogniser_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[Event] = []
    settings = RecogniserSettings(cpp_recogniser_path, threads=1)
    recogniser = open_recogniser(settings, notices.append)
    assert isinstance(recogniser, WhisperCppRecogniser)
    if has_gpu_engine():
        assert bool(notices) == (recogniser.gpu is None)
        return
    assert not notices and recogniser.gpu is None
    monkeypatch.setattr(opening, "has_gpu_engine", lambda: True)
    open_recogniser(settings, notices.append)
    assert notices == [Notice("warning", GPU_UNUSED, GPU)]


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("_pywhispercpp", reason="whisper.cpp is not installed: the extra `metal`")
    return write_random_ggml(tmp_path_factory.mktemp("random") / "ggml-random.bin")


def test_a_published_model_has_languages_hot_words_and_bounded_passes(random_model: Path) -> None:
    words = tuple(f"word{number}" for number in range(200))
    recogniser = WhisperCppRecogniser(RecogniserSettings(random_model, None, threads=1, hot_words=words))
    assert len(recogniser.languages) == 99 and {"en", "de", "ja", "he"} <= set(recogniser.languages)
    assert recogniser.hot_words == words[: len(recogniser.hot_words)] != ()
    exchange = []
    ask = recogniser._process.ask
    recogniser._process.ask = lambda request, *rest: exchange.append((request, ask(request, *rest))) or exchange[-1][1]  # type: ignore[assignment, func-returns-value]
    # It writes until it is stopped: that is a loop.
    assert recogniser.recognise(hiss(2.0), prompt="what was said before").words == ()
    _, (_, detected), (request, written) = exchange
    heard = detected["probabilities"]
    assert max(heard, key=heard.__getitem__) == "de" and 0.5 < heard["de"] <= 1 and abs(sum(heard.values()) - 1) < 1e-3
    assert written["likelihood"] < 0
    text = recogniser._tokenizer("de").decode(request["prompt"])
    assert text == f" {', '.join(recogniser.hot_words)} what was said before"
    assert (request["language"], request["positions"]) == ("de", 1500)
    assert len(written["tokens"]) == request["limit"] == SPARE_TOKENS + 15
    with pytest.raises(UsageError, match="tlh"):
        WhisperCppRecogniser(RecogniserSettings(random_model, "tlh", threads=1))


def test_the_language_that_is_set_is_the_language_of_the_next_pass(random_model: Path) -> None:
    recogniser = WhisperCppRecogniser(RecogniserSettings(random_model, "de", threads=1, other_languages=("fr",)))
    track = recogniser.in_language("ja")
    languages: list[str] = []

    def answer(request: dict[str, object], *features: np.ndarray) -> dict[str, object]:
        languages.append(str(request.get("language", "")))
        return {"tokens": [], "ends": [], "chances": []}

    recogniser._process.ask = answer  # type: ignore[method-assign]
    for listening in (recogniser, track):
        listening.recognise(hiss(1.0))
    recogniser.expect_language("fr")
    recogniser.recognise(hiss(1.0))
    assert [code for code in languages if code] == ["de", "ja", "fr"]
    with pytest.raises(UsageError, match="tlh"):
        recogniser.in_language("tlh")


@pytest.mark.parametrize(
    ("end", "hangs"),
    [
        (signal.SIGKILL, False),
        pytest.param(signal.SIGINT, False, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.long),
    ],
)
def test_its_process_ends_with_the_run(end: signal.Signals, hangs: bool, cpp_recogniser_path: Path) -> None:
    recording = ROOT / "recordings" / "demo.flac"
    command = [sys.executable, "-m", "livetrans", "replay", str(recording), "--asr", str(cpp_recogniser_path)]
    with subprocess.Popen(
        [*command, "--speed", "max", "--no-session", "--jsonl=-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        assert run.stdout
        next(line for line in run.stdout if '"transcript"' in line)
        children = psutil.Process(run.pid).children()
        [computing] = [child for child in children if "whisper_cpp_process" in " ".join(child.cmdline())]
        if hangs:
            computing.suspend()
        run.send_signal(end)
        while hangs and run.poll() is None:
            time.sleep(0.5)
            run.send_signal(end)  # The second one does not wait.
        last = run.stdout.read().rpartition("{")[2]
        assert hangs or ('"stopped"' in last) == (end == signal.SIGINT)
    _, living = psutil.wait_procs(children, timeout=20)
    assert not living


@pytest.mark.long
def test_recordings_have_no_more_errors_than_by_the_other_engine(
    recogniser: WhisperCppRecogniser, other: WhisperRecogniser
) -> None:
    benchmark = runpy.run_path(str(ROOT / "tests/benchmarks/recognisers.py"), run_name="benchmark")
    wrong, spoken = {"mine": 0, "theirs": 0}, 0
    # All seven take minutes: tests/benchmarks/recognisers.py.
    for file in (ROOT / "recordings" / f"{name}.flac" for name in ("numbers", "questions")):
        reference = benchmark["words"](file.with_suffix(".txt").read_text(encoding="utf-8"))
        spoken += len(reference)
        for name, engine in (("mine", recogniser), ("theirs", other)):
            finals = benchmark["stream"](engine, file)[1]
            wrong[name] += benchmark["errors"](reference, benchmark["words"](" ".join(finals)))
    assert (wrong["mine"] - wrong["theirs"]) / spoken < 0.005  # one word of two recordings


def test_files_that_cannot_be_used_are_one_sentence(random_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no recogniser at"):
        read_head(tmp_path / "none.bin")
    wrong = tmp_path / "wrong.bin"
    for content in (b"", b"lmgg", b"GGUF" * 20, b"lmgg" + b"\xff" * 60):
        wrong.write_bytes(content)
        with pytest.raises(ModelError, match="is not a Whisper model in whisper"):
            open_recogniser(RecogniserSettings(wrong))
    half = tmp_path / "half.bin"
    half.write_bytes(random_model.read_bytes()[: random_model.stat().st_size // 2])
    with pytest.raises(ModelError, match=r"half\.bin cannot be loaded"):
        open_recogniser(RecogniserSettings(half))
