"""NeMo's TDT transducers by onnxruntime, with tiny random models in both published layouts."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livetrans.audio.file import AudioFile
from livetrans.base.clock import ManualClock
from livetrans.base.errors import ModelError, UsageError
from livetrans.config import RecogniserSettings
from livetrans.events import FULL_SCALE, SAMPLE_RATE
from livetrans.speech.transducer import (
    Token,
    TransducerRecogniser,
    decode,
    features_of,
    find_files,
    mel_filters,
    words_of,
)
from tests.speech.random_whisper import PHRASE

onnx = pytest.importorskip("onnx", reason="onnx, of the extra `test`, writes the models")
from tests.speech.random_transducer import Shape, write_random_transducer  # noqa: E402

DEMO = Path(__file__).parents[2] / "recordings" / "demo.flac"
LAYOUTS = ("onnx-asr", "sherpa")


def noise(seconds: float) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 0.1, round(seconds * SAMPLE_RATE)).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pass_writes_words_with_the_times_of_the_models_own_durations(tmp_path: Path, layout: str) -> None:
    model = write_random_transducer(tmp_path / "model", layout=layout, phrase=PHRASE)
    words = TransducerRecogniser(RecogniserSettings(model, "en")).recognise(noise(3.0)).words
    assert [word.text for word in words] == list(PHRASE[:10])  # one in 0.32 s
    assert [word.start for word in words] == pytest.approx([0.32 * number for number in range(10)])
    assert [word.end for word in words] == pytest.approx([*(0.32 * number for number in range(1, 10)), 3.0])


@pytest.mark.parametrize("quantization", [None, "int8", "matmul"])
def test_both_layouts_write_the_same_of_the_same_sound(tmp_path: Path, quantization: str | None) -> None:
    found = []
    for layout in LAYOUTS:
        model = write_random_transducer(tmp_path / layout, layout=layout, quantization=quantization, phrase=PHRASE)
        found.append(TransducerRecogniser(RecogniserSettings(model, "en")).recognise(noise(2.0)).words)
    assert found[0] == found[1] != ()


def test_features_have_mean_0_and_deviation_1_in_each_band_whatever_the_loudness() -> None:
    filters = mel_filters(80)
    loud, quiet = (features_of(noise(2.0) * scale, filters) for scale in (1.0, 0.1))
    assert loud.shape == (80, 200)
    assert loud.mean(axis=1) == pytest.approx(np.zeros(80), abs=1e-4)
    assert loud.std(axis=1, ddof=1) == pytest.approx(np.ones(80), abs=1e-3)
    assert np.abs(quiet - loud).mean() < 0.02  # what is left is the least power


def scripted(answers: dict[int, list[tuple[int, int]]], frames: int) -> tuple[list[Token], list[tuple[int, int]]]:
    """Decode with a joint that gives at each frame the next of its pairs of piece and duration; 3 is the blank.

    Returns the tokens, and the frames that were looked at, each with the last token.
    """
    seen: list[tuple[int, int]] = []

    def join(frame: np.ndarray, last: int) -> tuple[np.ndarray, None]:
        at = int(frame[0])
        seen.append((at, last))
        given = answers.get(at, [])
        piece, duration = given.pop(0) if given else (3, 1)
        logits = np.zeros(4 + 5, np.float32)
        logits[[piece, 4 + duration]] = 9.0
        return logits, None

    found = decode(np.arange(frames, dtype=np.float32)[:, None], lambda token, state: token, join, 4, 3)
    return found, seen


def test_decoding_goes_on_by_the_durations() -> None:
    tokens, seen = scripted({0: [(1, 0), (2, 2)], 2: [(3, 4)], 6: [(0, 3)]}, 8)
    assert [(token.piece, token.start, token.frames) for token in tokens] == [(1, 0, 0), (2, 0, 2), (0, 6, 3)]
    assert seen == [(0, 3), (0, 1), (2, 2), (6, 2)]  # a blank changes nothing that the predictor knows
    assert all(-0.1 < token.likelihood < 0 for token in tokens)


def test_decoding_ends_where_the_model_would_stay_at_a_frame() -> None:
    blank, seen = scripted({0: [(3, 0)], 1: [(3, 0)]}, 2)
    assert blank == [] and [at for at, _ in seen] == [0, 1]
    tokens, _ = scripted({0: [(1, 0)] * 99}, 1)
    assert len(tokens) == 10


def test_a_word_is_as_sure_as_its_tokens_are() -> None:
    tokens = [Token(0, 0, 1, math.log(0.5)), Token(2, 1, 1, math.log(0.9)), Token(0, 2, 1, 0.0)]
    words = list(words_of(tokens, ("▁New", "▁", "York"), 0.08, 9.0))
    assert [word.probability for word in words] == pytest.approx([0.7, 1.0])


def test_words_are_split_at_the_mark_and_in_scripts_without_spaces_at_each_piece() -> None:
    pieces = ("▁New", "▁", "York", ".", "<unk>", "<|en|>", "日", "本")

    def text(*written: int) -> list[str]:
        tokens = [Token(piece, number, 1, 0.0) for number, piece in enumerate(written)]
        return [word.text for word in words_of(tokens, pieces, 0.08, 9.0)]

    assert text(5, 0, 1, 2, 4, 3) == ["New", "York."]
    assert text(6, 7, 3) == ["日", "本."]
    assert text(4, 1) == []


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_random_transducer(tmp_path / "parakeet", phrase=PHRASE)


def load(model: Path, **settings: Any) -> TransducerRecogniser:
    return TransducerRecogniser(RecogniserSettings(model, **{"language": "en"} | settings))


def test_it_says_what_it_does_not_do(model: Path) -> None:
    with pytest.raises(UsageError, match="parakeet does not detect the language; name it with --from"):
        load(model, language=None)
    with pytest.raises(UsageError, match="--encode-window is for Whisper"):
        load(model, window="full")
    recogniser = load(model, hot_words=("Ada",))
    assert recogniser.hot_words == ()
    with pytest.raises(UsageError, match="does not detect the language"):
        recogniser.in_language(None)
    with pytest.raises(UsageError, match="does not tell languages apart"):
        recogniser.recognise(noise(1.0), language="de")


def test_the_language_is_what_the_user_says(model: Path) -> None:
    recogniser = load(model, other_languages=("de",))
    assert recogniser.recognise(noise(1.0)).language == "en"
    recogniser.expect_language("de")
    assert recogniser.recognise(noise(1.0)).language == "de"
    assert load(model).recognise(noise(1.0)).language is None
    assert recogniser.recognise(noise(0.1)).words == () == recogniser.recognise(noise(0.0)).words


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_and_damaged_files_give_one_sentence(tmp_path: Path, layout: str) -> None:
    whole = write_random_transducer(tmp_path / "whole", layout=layout)
    with pytest.raises(ModelError, match=r"There is no recogniser at .*absent; give the folder of a NeMo TDT"):
        load(tmp_path / "absent")
    for file in sorted(whole.iterdir()):
        for damage in (None, b"", b"\xff damaged\n", file.read_bytes()[: file.stat().st_size // 2]):
            broken = shutil.copytree(whole, tmp_path / "broken", dirs_exist_ok=True)
            (broken / file.name).unlink() if damage is None else (broken / file.name).write_bytes(damage)
            if file.name == "config.json" and damage is None:
                assert load(broken).recognise(noise(1.0)).words  # the models say the same
                continue
            with pytest.raises(ModelError) as raised:
                load(broken).recognise(noise(1.0))
            assert str(broken) in str(raised.value) and str(raised.value).count("\n") == 0
            assert re.search(r"; (copy|give|choose) .*\.$", str(raised.value))


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    model = write_random_transducer(tmp_path / "model", layout="sherpa")
    graph = onnx.load(model / "encoder.onnx")
    onnx.helper.set_model_props(graph, {"normalize_type": ""})
    onnx.save(graph, model / "encoder.onnx")
    with pytest.raises(ModelError, match="not a NeMo TDT transducer: its features are not NeMo's usual ones; choose"):
        load(model)
    shutil.copyfile(model / "joiner.onnx", model / "encoder.onnx")
    shutil.copyfile(model / "joiner.onnx", model / "decoder.onnx")
    with pytest.raises(ModelError, match="its models are not those of a transducer; choose"):
        load(model)
    model = write_random_transducer(tmp_path / "other")
    pieces = (model / "vocab.txt").read_text(encoding="utf-8")
    (model / "vocab.txt").write_text(pieces + "".join(f"x{number} {number}\n" for number in range(65, 70)))
    with pytest.raises(ModelError, match="it does not say how long its tokens last; choose"):
        load(model)


def test_a_failing_model_can_be_loaded_again(model: Path) -> None:
    recogniser = load(model)
    other = recogniser.in_language("de")
    recogniser._model._sessions[0] = None
    with pytest.raises(ModelError, match=r"The recogniser failed .*; try another model"):
        other.recognise(noise(1.0))
    recogniser.reload()
    assert other.recognise(noise(1.0)).words


def test_of_two_quantisations_the_small_one_is_taken(tmp_path: Path) -> None:
    model = write_random_transducer(tmp_path / "model")
    kept = shutil.copytree(model, tmp_path / "kept")
    write_random_transducer(model, quantization="matmul")
    shutil.copyfile(kept / "encoder-model.onnx", model / "encoder-model.onnx")
    assert [file.name for file in find_files(model).models] == ["encoder-model.int8.onnx", "decoder_joint-model.onnx"]


def test_tokens_and_their_frames_are_those_of_onnx_asr(tmp_path: Path) -> None:
    onnx_asr = pytest.importorskip("onnx_asr", reason="onnx-asr, of the extra `test`, is the other program")
    model = write_random_transducer(tmp_path / "model")
    ours = load(model)._model
    named = {"providers": ["CPUExecutionProvider"]}
    theirs = onnx_asr.load_model("nemo-conformer-tdt", model, **named).with_timestamps()
    chunks = AudioFile(DEMO, ManualClock(), real_time=False)
    sound = np.concatenate([chunk.samples for chunk in chunks]).astype(np.float32) / np.float32(FULL_SCALE)
    for begin, end in ((0.0, 5.0), (5.0, 5.4), (3.0, 14.37)):
        samples = sound[round(begin * SAMPLE_RATE) : round(end * SAMPLE_RATE)]
        found, other = ours.recognise(samples), theirs.recognize(np.ascontiguousarray(samples))
        assert [ours.pieces[token.piece].replace("▁", " ") for token in found] == other.tokens != []
        assert [token.start * ours.frame for token in found] == pytest.approx(other.timestamps)
        assert [token.likelihood for token in found] == pytest.approx(other.logprobs, abs=1e-3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sizes_that_a_graph_leaves_open_are_those_that_the_files_state(tmp_path: Path, layout: str) -> None:
    shape = Shape(bands=128, predictor_layers=2)
    model = write_random_transducer(tmp_path / "model", shape=shape, layout=layout)
    expected = load(model).recognise(noise(2.0)).words
    for file in model.glob("*coder*.onnx"):
        graph = onnx.load(file)
        for given in graph.graph.input:
            for number, size in enumerate(given.type.tensor_type.shape.dim):
                size.dim_param = f"{given.name}{number}"
        if layout == "onnx-asr" and file.name.startswith("encoder"):
            onnx.save(graph, file)  # its decoder's sizes are stated nowhere
        elif layout == "sherpa":
            onnx.save(graph, file)
    assert load(model).recognise(noise(2.0)).words == expected != ()
