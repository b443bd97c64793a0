"""The Whisper adapter, with the small English recogniser and with random models of OpenAI's shapes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faster_whisper import WhisperModel
from random_whisper import hiss, write_random_whisper

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.base.errors import ModelError, UsageError
from livetrans.config import GateSettings, RecogniserSettings, Settings, TranscriberSettings
from livetrans.events import SAMPLE_RATE, AudioChunk, Transcript
from livetrans.run import opening
from livetrans.speech import whisper
from livetrans.speech.gate import VoiceActivityGate
from livetrans.speech.transcriber import Transcriber
from livetrans.speech.whisper import WhisperRecogniser, _keep_freed_memory
from livetrans.speech.whisper_model import AGREEING_PASSES, CERTAIN, SURE, ModelTraits, model_traits
from livetrans.speech.whisper_pass import (
    FULL_WINDOW,
    SMALL_MODEL_BYTES,
    HotWords,
    most_tokens,
    shared_threads,
    split_at_timestamps,
    usual_threads,
)

RECORDINGS = Path(__file__).parents[2] / "recordings"


@pytest.fixture(scope="module")
def recogniser(recogniser_path: Path) -> WhisperRecogniser:
    return WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))


def listen(recogniser: WhisperRecogniser, samples: np.ndarray) -> list[Transcript]:
    gate = VoiceActivityGate(GateSettings())
    transcriber = Transcriber(recogniser, TranscriberSettings(adaptive=False, step=2.0), ManualClock())
    chunks = [c for i in range(0, len(samples), 960) for c in gate.feed(AudioChunk(samples[i : i + 960], i))]
    transcripts = [t for chunk in [*chunks, *gate.flush()] for t in transcriber.feed(chunk)]
    return transcripts + transcriber.flush()


def test_a_language_that_the_model_does_not_know_is_refused(recogniser_path: Path) -> None:
    with pytest.raises(UsageError, match="'tlh'"):
        WhisperRecogniser(RecogniserSettings(recogniser_path, language="tlh"))


def test_a_folder_that_is_no_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no recogniser at"):
        WhisperRecogniser(RecogniserSettings(tmp_path / "missing"))
    for name in ("model.bin", "vocabulary.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json"):
        WhisperRecogniser(RecogniserSettings(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        WhisperRecogniser(RecogniserSettings(tmp_path))


def test_a_model_states_what_it_was_trained_for() -> None:
    stated = {"previous_text": True, "short_window_rest": 0.5, "beam_size": 5, "maximum_length": 18}
    silence = {"no_speech": 0.001, "unlikely": -0.5, "sure": 0.5}
    assert model_traits({"livetrans": stated | silence}, 600) == ModelTraits(
        True, False, 0.5, 5, 18.0, 0.001, -0.5, 0.5
    )
    assert model_traits({}, 600) == ModelTraits(False, False, None, 1, 28.0, 0.6, -1.0, SURE)
    assert model_traits({}, 51_864) == ModelTraits(True, True, None, 1, 28.0, 0.6, -1.0, SURE)
    assert model_traits({"livetrans": {"hot_words": True}}, 600).takes_hot_words
    wrong = {
        "previous_text": "yes",
        "hot_words": 1,
        "short_window_rest": "0.5",
        "beam_size": 0,
        "maximum_length": 60,
        "unlikely": 1.0,
        "sure": 2.0,
    }
    assert model_traits({"livetrans": wrong}, 600) == model_traits({"livetrans": 5}, 600) == model_traits({}, 600)


def stretches(name: str, count: int) -> list[np.ndarray]:
    """The first stretches of speech of a recording, in -1..1."""
    gate = VoiceActivityGate(GateSettings())
    found, parts = [], []
    for audio in AudioFile(RECORDINGS / name, ManualClock(), real_time=False):
        for chunk in gate.feed(audio):
            parts.append(chunk.samples)
            if chunk.pause:
                found.append(np.concatenate(parts).astype(np.float32) / 32_768)
                parts = []
        if len(found) >= count:
            break
    return found[:count]


@pytest.mark.parametrize(("demo", "pauses"), [(1, 1), pytest.param(3, 2, marks=pytest.mark.long)])
def test_short_windows_give_the_words_and_times_of_full_ones(
    recogniser: WhisperRecogniser, recogniser_path: Path, demo: int, pauses: int
) -> None:
    padded = WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1, window="full"))
    for samples in [*stretches("demo.flac", demo), *stretches("pauses.flac", pauses)]:
        short, full = recogniser.recognise(samples).words, padded.recognise(samples).words
        assert [word.text for word in short] == [word.text for word in full] != []
        for one, other in zip(short, full, strict=True):
            assert one.start == pytest.approx(other.start, abs=0.041)
            assert one.end == pytest.approx(other.end, abs=0.041)


def test_a_pass_tells_how_likely_another_text_is_for_its_sound(recogniser: WhisperRecogniser) -> None:
    source = AudioFile(RECORDINGS / "demo.flac", ManualClock(), False, lambda event: None)
    samples = np.concatenate([chunk.samples for chunk in source])[: 6 * SAMPLE_RATE].astype(np.float32) / 32768
    hypothesis = recogniser.recognise(samples, final=True)
    words = [word.text for word in hypothesis.words]
    assert hypothesis.likelihood and len(words) > 3
    assert all(0 < word.probability <= 1 for word in hypothesis.words) and hypothesis.words[1].probability < 1
    written = hypothesis.likelihood(" ".join(words))
    assert -len(words) < written <= 0
    for other in (["no", *words[1:]], [*words[:-1], "Kubernetes."], words[::-1]):
        assert hypothesis.likelihood(" ".join(other)) < written - 3
    recogniser.recognise(samples[: 2 * SAMPLE_RATE], final=True)
    assert hypothesis.likelihood(" ".join(words)) == pytest.approx(written), "of this pass, not of the newest"
    assert hypothesis.likelihood("word " * 500) == -np.inf, "longer than the decoder"


def test_a_growing_window_gives_no_word_that_its_sound_has_not_reached(recogniser: WhisperRecogniser) -> None:
    (samples,) = stretches("demo.flac", 1)
    for length in np.arange(0.1, len(samples) / SAMPLE_RATE, 0.3):
        hypothesis = recogniser.recognise(samples[: round(length * SAMPLE_RATE)])
        assert all(0 <= word.start <= word.end <= length + 0.02 for word in hypothesis.words)
        assert all(0 < end <= length for end in hypothesis.segment_ends)


def test_a_model_that_is_loaded_again_writes_the_same_in_every_recogniser_of_it(recogniser_path: Path) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(recogniser_path, threads=1))
    shared, (samples,) = recogniser.in_language("en"), stretches("demo.flac", 1)
    before = recogniser.recognise(samples)
    broken = recogniser._model.model
    recogniser.reload()
    assert recogniser._model.model is shared._model.model is not broken
    assert before.words and recogniser.recognise(samples) == before == shared.recognise(samples)


def test_steady_noise_and_silence_give_no_words(recogniser: WhisperRecogniser) -> None:
    noise = np.random.default_rng(1).normal(0, 800, 6 * SAMPLE_RATE).astype(np.int16)
    hum = (3000 * np.sin(np.arange(6 * SAMPLE_RATE) * 2 * np.pi * 100 / SAMPLE_RATE)).astype(np.int16)
    for samples in (noise, hum, np.zeros_like(noise)):
        assert listen(recogniser, samples) == []


V2 = pytest.param((99, 80, 3), marks=pytest.mark.long)


@pytest.fixture(scope="module", params=[V2, (100, 128, 10)], ids=["v2", "v3"])
def random_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OpenAI's shapes: 51,865 pieces and 80 bands, 51,866 pieces and 128 bands."""
    languages, bands, seed = request.param
    return write_random_whisper(tmp_path_factory.mktemp("random"), languages=languages, bands=bands, seed=seed)


@pytest.fixture(scope="module")
def reference(random_model: Path) -> WhisperModel:
    """faster-whisper's own reading of the same model."""
    return WhisperModel(str(random_model), device="cpu", cpu_threads=1)


@pytest.mark.parametrize(
    ("prompt", "beam_size"),
    [
        ("", 1),
        ("what was said before", 5),
        pytest.param("", 5, marks=pytest.mark.long),
        pytest.param("what was said before", 1, marks=pytest.mark.long),
    ],
)
def test_a_full_window_is_recognised_as_by_faster_whisper(
    random_model: Path, reference: WhisperModel, prompt: str, beam_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At 0.00 s, because faster-whisper takes a first time that is later for the end of a segment without an end.
    monkeypatch.setattr(whisper, "FIRST_TIMESTAMP", 0)
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", beam_size, threads=1, compute_type="float32"))
    compared = 0
    for seconds in (2.0, 6.0, 8.0):
        words = recogniser.recognise(hiss(seconds), prompt=prompt).words
        segments, _ = reference.transcribe(
            hiss(seconds),
            language="de",
            beam_size=beam_size,
            temperature=0.0,
            word_timestamps=True,
            initial_prompt=prompt or None,
            max_initial_timestamp=0.0,
        )
        first_window = takewhile(lambda segment: segment.seek == 0, segments)
        expected = [word for segment in first_window for word in segment.words or ()]
        if words:
            assert [(word.text, word.start, word.end) for word in words] == [
                (word.word.strip(), word.start, word.end) for word in expected
            ]
            compared += len(words)
    assert compared


def test_the_language_is_detected_from_a_full_window(random_model: Path, reference: WhisperModel) -> None:
    recogniser = WhisperRecogniser(
        RecogniserSettings(random_model, None, window="always", threads=1, compute_type="float32")
    )
    language, probability, _ = reference.detect_language(hiss(6.0))
    assert (language, recogniser.language) == ("de", None) and probability > CERTAIN
    frames = encoded_frames(recogniser)
    found = [recogniser.recognise(hiss(seconds)).words != () for seconds in (2.0, 6.0, 11.0, 6.0)]
    assert recogniser.language == "de"
    first = found.index(True)
    assert frames[: first + 1] == [FULL_WINDOW] * (first + 1)
    assert all(length < FULL_WINDOW for length in frames[first + 1 :]) and len(frames) > first + 1


def test_a_pass_says_in_which_language_it_was_made_although_the_user_changes_it_meanwhile(random_model: Path) -> None:
    settings = RecogniserSettings(random_model, "de", threads=1, other_languages=("fr",))
    recogniser = WhisperRecogniser(settings)
    decode, found = recogniser._decode, []

    def change_and_decode(*arguments: Any) -> tuple[Sequence[int], float]:
        recogniser.expect_language("fr")
        return decode(*arguments)

    for one in (decode, change_and_decode, decode):
        recogniser._decode = one  # type: ignore[method-assign]
        found.append(recogniser.recognise(hiss(6.0)).language)
    assert found == ["de", "de", "fr"]


def test_a_pass_is_made_in_the_language_it_is_given_and_tells_the_probabilities_of_all(random_model: Path) -> None:
    """Random weights: this is the plumbing, and says nothing of how often a language is heard right."""
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, None, threads=1, other_languages=("de", "ja")))
    decoded: list[tuple[str, int, float]] = []
    decode = recogniser._decode

    def noting(encoded: Any, tokenizer: Any, previous: Sequence[int], limit: int) -> tuple[Sequence[int], float]:
        found = decode(encoded, tokenizer, previous, limit)
        decoded.append((tokenizer.language_code, len(previous), found[1]))
        return found

    recogniser._decode = noting  # type: ignore[method-assign]
    for code, prompt in (("de", "was gesagt wurde"), ("ja", "")):
        heard = recogniser.recognise(hiss(6.0), prompt=prompt, final=True, language=code)
        language, prompted, log_probability = decoded[-1]
        assert (language, prompted > 0) == (code, bool(prompt))
        assert heard.language in (code, None) and (not heard.words or heard.log_probability == log_probability)
        assert set(heard.languages) == set(recogniser.languages) and abs(sum(heard.languages.values()) - 1) < 1e-3
    assert recogniser.language is None, "a given language is not detected"
    with pytest.raises(UsageError, match="tlh"):
        recogniser.recognise(hiss(1.0), language="tlh")


def test_a_change_of_language_needs_several_passes_and_a_set_one_none(random_model: Path) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, None, threads=1, other_languages=("fr",)))
    detected = ["de"]
    recogniser._detected = lambda encoded: {detected[-1]: 0.9}  # type: ignore[method-assign]

    def languages(passes: int) -> list[str | None]:
        return [recogniser.recognise(hiss(6.0)).language for _ in range(passes)]

    while languages(1) == [None]:
        pass  # The random model writes no words in some passes.
    assert recogniser.language == "de"
    detected.append("ja")
    assert {"de"} >= set(languages(AGREEING_PASSES - 1)) - {None}
    assert {"ja"} >= set(languages(2)) - {None} and recogniser.language == "ja"
    recogniser.expect_language("fr")
    assert {"fr"} >= set(languages(2)) - {None} and recogniser.language == "fr"
    recogniser.expect_language("tlh")
    assert recogniser.language == "fr"
    recogniser.expect_language(None)
    assert recogniser.language is None
    fixed = WhisperRecogniser(RecogniserSettings(random_model, "de", threads=1))
    assert fixed.recognise(hiss(6.0)).language is None
    with pytest.raises(UsageError, match="tlh"):
        WhisperRecogniser(RecogniserSettings(random_model, "de", threads=1, other_languages=("tlh",)))


def encoded_frames(recogniser: WhisperRecogniser) -> list[int]:
    """Grows by the length of each window that is encoded."""
    lengths: list[int] = []
    encode = recogniser._model.encode

    def counted(features: np.ndarray) -> object:
        lengths.append(features.shape[-1])
        return encode(features)

    recogniser._model.encode = counted
    return lengths


@pytest.mark.parametrize(
    ("window", "partial", "final"), [(None, 3000, 3000), ("full", 3000, 3000), ("partials", 500, 3000)]
)
def test_other_models_get_full_windows_unless_short_ones_are_wanted(
    random_model: Path, window: str | None, partial: int, final: int
) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", window=window, threads=1))
    frames = encoded_frames(recogniser)
    recogniser.recognise(hiss(2.0))
    recogniser.recognise(hiss(2.0), final=True)
    assert frames == [partial, final]


def paced(recogniser: WhisperRecogniser, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a pass take so long for a full window, and in proportion for a short one."""
    now = [0.0]
    encode = recogniser._model.encode

    def slow(features: np.ndarray) -> object:
        now[0] += seconds * features.shape[-1] / FULL_WINDOW
        return encode(features)

    recogniser._model.encode = slow
    monkeypatch.setattr("livetrans.speech.whisper_pass.perf_counter", lambda: now[0])


@pytest.mark.parametrize(
    ("seconds", "partial", "final"),
    [(0.1, 3000, 3000), (1.5, 500, 3000), (4.2, 500, 500)],
    ids=["as a GPU", "Whisper base on a laptop", "Whisper small on a laptop"],
)
def test_windows_are_as_long_as_the_machine_has_time_for(
    random_model: Path, seconds: float, partial: int, final: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", window="auto", threads=1))
    paced(recogniser, seconds, monkeypatch)
    frames = encoded_frames(recogniser)
    recogniser.recognise(hiss(2.0))
    other = recogniser.in_language("en")
    for one in (recogniser, other):
        del frames[:]
        one.recognise(hiss(2.0))
        one.recognise(hiss(2.0), final=True)
        one.recognise(hiss(2.0))
        assert frames == [partial, final, partial]


def test_one_disturbed_pass_changes_no_window_and_a_faster_machine_is_noticed(
    random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", window="auto", threads=1))
    paced(recogniser, 0.1, monkeypatch)
    frames = encoded_frames(recogniser)
    encode = recogniser._model.encode
    recogniser.recognise(hiss(2.0))
    paced(recogniser, 60.0, monkeypatch)
    recogniser.recognise(hiss(2.0))
    recogniser._model.encode = encode
    recogniser.recognise(hiss(2.0))
    assert frames == [500, 3000, 3000]


@pytest.mark.parametrize(("live", "window"), [(True, "auto"), (False, None)])
def test_where_nobody_waits_the_window_does_not_depend_on_the_machine(
    live: bool, window: str | None, random_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[RecogniserSettings] = []

    def opening_none(settings: RecogniserSettings, publish: object) -> object:
        opened.append(settings)
        raise ModelError("enough")

    monkeypatch.setattr(opening, "open_recogniser", opening_none)
    for given in (None, "auto", "partials"):
        settings = Settings(
            RecogniserSettings(random_model, window=given), transcriber=TranscriberSettings(adaptive=live)
        )
        with pytest.raises(ModelError):
            opening.open_stages(settings, ManualClock(), lambda event: None)
    assert [settings.window for settings in opened] == [window, window, "partials"]


def test_the_embedded_model_keeps_the_windows_that_it_was_trained_for(recogniser_path: Path) -> None:
    frames = []
    for window in (None, "auto"):
        recogniser = WhisperRecogniser(RecogniserSettings(recogniser_path, "en", window=window))
        frames.append(encoded_frames(recogniser))
        recogniser.recognise(hiss(2.0))
        recogniser.recognise(hiss(2.0), final=True)
    assert frames == [[250, 250], [250, 250]]


def test_hot_words_stand_in_the_prompt_as_far_as_they_fit(random_model: Path) -> None:
    words = tuple(f"word{number}" for number in range(200))
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", threads=1, hot_words=words))
    assert 0 < len(recogniser.hot_words) < 200
    assert recogniser.hot_words == words[: len(recogniser.hot_words)]
    prompts: list[list[int]] = []
    make = recogniser._model.get_prompt
    recogniser._model.get_prompt = lambda *given, **named: prompts.append(make(*given, **named)) or prompts[-1]
    recogniser.recognise(hiss(2.0), prompt="before")
    text = recogniser._tokenizer("de").decode(prompts[0][1:])
    assert text.startswith(f" {', '.join(recogniser.hot_words)} before")
    recogniser.traits = replace(recogniser.traits, takes_hot_words=False)
    assert recogniser.hot_words == ()


def test_the_hot_words_used_last_come_first(random_model: Path) -> None:
    words = tuple(f"word{number:03}" for number in range(200))
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", threads=1, hot_words=words))
    recogniser.recognise(hiss(2.0), prompt="we saw Word123 there")
    assert recogniser.hot_words[:2] == ("word123", "word000")
    recogniser.in_language("en").expect_words(("new", "word000", "word123"))
    assert recogniser.hot_words == ("new", "word123", "word000"), "recognisers of one model share them"


def test_words_in_silence_that_are_all_expected_are_told_from_speech() -> None:
    hot = HotWords(("OpenRouter", "Siobhan"))

    class Spoken(str):
        def casefold(self) -> str:
            hot.replace(("Grimnir", "Siobhan"))
            return "siobhan"

    hot.use(Spoken())
    assert hot.fitting(len, 99) == ("Siobhan", "Grimnir"), "a list that comes meanwhile is kept"
    hot.replace(("OpenRouter", "Siobhan"))
    assert hot.is_all_of("Siobhan, OpenRouter.") and hot.is_all_of("openrouter")
    assert not hot.is_all_of("") and not hot.is_all_of("with Siobhan") and not HotWords(()).is_all_of(".")


@pytest.mark.parametrize("window", ["always", "full"])
def test_no_window_is_of_a_length_that_ctranslate2_encodes_twice(random_model: Path, window: str) -> None:
    recogniser = WhisperRecogniser(RecogniserSettings(random_model, "de", window=window, threads=1))
    lengths = {recogniser._window_frames(frames, False, "de") for frames in range(1, 2801)}
    assert not lengths & {160, 256}
    assert all(100 <= length <= FULL_WINDOW for length in lengths)


def test_a_pass_is_bounded_by_its_sound_and_what_reaches_the_bound_is_dropped(tmp_path: Path) -> None:
    folder = write_random_whisper(tmp_path / "endless", ends=False)
    recogniser = WhisperRecogniser(RecogniserSettings(folder, "de", window="always", threads=1))
    lengths: list[int] = []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            return getattr(model, name)

        def generate(self, *arguments: Any, **options: Any) -> Any:
            results = model.generate(*arguments, **options)
            lengths.append(len(results[0].sequences_ids[0]))
            return results

    model, recogniser._model.model = recogniser._model.model, Counted()
    for seconds, prompt in ((0.5, ""), (3.0, "x" * 200), (28.0, "")):
        assert recogniser.recognise(hiss(seconds), prompt=prompt).words == ()
    assert lengths == [most_tokens(seconds) for seconds in (0.5, 3.0, 28.0)] == [24, 42, 230]
    assert recogniser.recognise(hiss(28.0), prompt="ก" * 300).words == ()
    assert lengths[-1] < most_tokens(28.0), "the prompt leaves less than that"


def test_segments_are_cut_between_two_times() -> None:
    begin = 1000
    tokens = [begin, 5, 6, begin + 50, begin + 60, 7, begin + 100, begin + 100, 8]
    found = [(s["start"], s["end"], s["tokens"]) for s in split_at_timestamps(tokens, 900, begin, 4.0)]
    assert found == [(0.0, 1.0, tokens[:4]), (1.2, 2.0, tokens[4:7]), (2.0, 4.0, tokens[7:])]
    assert split_at_timestamps([begin, begin + 3], 900, begin, 4.0) == []


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: object) -> None:
        raise AssertionError("no library may be loaded")

    monkeypatch.setattr("ctypes.CDLL", refuse)
    for answer in (ValueError("unknown name"), OSError("invalid"), None, "musl 1.2"):

        def confstr(name: str, answer: object = answer) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("os.confstr", confstr, raising=False)
        _keep_freed_memory()


@pytest.mark.parametrize(("answer", "threads"), [("6", 6), ("", 4), (None, 4)])
def test_a_large_model_takes_a_macs_performance_cores_and_elsewhere_what_the_translator_leaves(
    answer: str | None, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    if answer is not None:
        program = tmp_path / "bin" / "sysctl"
        program.write_text(f"#!/bin/sh\n[ $2 = hw.perflevel0.physicalcpu ] && echo {answer}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    weights = tmp_path / "model.bin"
    with weights.open("wb") as file:
        file.truncate(SMALL_MODEL_BYTES)
    assert shared_threads("darwin") == threads
    for cores, half in ((1, 1), (2, 1), (4, 2), (6, 3), (8, 4)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert shared_threads("linux") == half
    assert usual_threads(weights) == shared_threads()
    weights.write_bytes(b"small")
    assert usual_threads(weights) == 1


@pytest.mark.long
def test_what_a_first_pass_needs_is_loaded_with_the_model(recogniser_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import numpy as np\n"
        "from livetrans.config import RecogniserSettings\n"
        "from livetrans.speech.whisper import WhisperRecogniser\n"
        f"recogniser = WhisperRecogniser(RecogniserSettings(Path({str(recogniser_path)!r}), 'en'))\n"
        "from livetrans.audio.file import AudioFile; from livetrans.base.clock import SystemClock\n"
        f"sound = AudioFile(Path({str(RECORDINGS / 'demo.flac')!r}), SystemClock(), False)\n"
        "samples = np.concatenate([chunk.samples for chunk in sound])[:48000].astype(np.float32) / 32768\n"
        "before = set(sys.modules); assert recogniser.recognise(samples).words; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
