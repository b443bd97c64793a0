"""NeMo's TDT transducers (Parakeet) by onnxruntime, behind the recogniser port.

A transducer (Graves 2012, arXiv 1211.3711) goes along the encoded frames and writes a token or a blank at each. With
TDT (Xu et al. 2023, arXiv 2304.06795) it also says how many frames on it looks next, so words have times of its own.
It hears nothing but the sound: no prompt, no language, no hot words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from livetrans.base.errors import ModelError, UsageError
from livetrans.base.text import has_unspaced_script
from livetrans.config import RecogniserSettings
from livetrans.events import SAMPLE_RATE, Word
from livetrans.speech.recogniser import Hypothesis
from livetrans.speech.whisper_model import SURE, as_clause
from livetrans.speech.whisper_pass import usual_threads

LAYOUTS = {"vocab.txt": ("encoder-model", "decoder_joint-model"), "tokens.txt": ("encoder", "decoder", "joiner")}
"""The published layouts, onnx-asr's and sherpa-onnx's: the file of pieces, and what names of the models' files begin
with."""
PROVIDERS = ["CPUExecutionProvider"]
"""By name: CoreML, which onnxruntime prefers on a Mac, is slower with these models."""

HOP, WINDOW, TRANSFORM = 160, 400, 512
"""Samples from frame to frame of features, of a frame, and of its Fourier transform (NeMo)."""
PREEMPHASIS, LEAST_POWER, LEAST_DEVIATION = 0.97, 2.0**-24, 1e-5
LEAST_LENGTH = 0.3
"""Seconds; features are normalised over the whole sound, which less of it does not allow."""
MOST_TOKENS = 10
"""Tokens at one frame, after which the next one follows whatever the model says (NeMo)."""

BLANK = "<blk>"
WORD_START = "▁"
_CONTROL = re.compile(r"<.*>")
"""Pieces that are no text: `<unk>`, and tags such as `<|en|>`."""
_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")


@dataclass(frozen=True, slots=True)
class Token:
    """A written piece: when it begins and how long it lasts, in encoded frames, and its log-probability."""

    piece: int
    start: int
    frames: int
    likelihood: float


class TransducerRecogniser:
    """A NeMo TDT transducer from a local folder, in either layout."""

    maximum_length = 20.0
    """Published int8 files stop writing in longer sound."""
    trim_after = 8.0
    """A pass costs by the second of sound, and more sound before a word does not change it."""
    left_context = 2.5
    sure = SURE
    hot_words: tuple[str, ...] = ()

    def __init__(self, settings: RecogniserSettings) -> None:
        if settings.window not in (None, "auto"):
            raise UsageError("--encode-window is for Whisper: a transducer encodes its sound alone; drop the option")
        self._files = find_files(settings.model)
        self._threads = settings.threads or usual_threads(_weights(self._files.models[0]))
        self.language, self._reports = settings.language, bool(settings.other_languages)
        self._check(self.language)
        self._model = Transducer(self._files, self._threads)

    def expect_words(self, words: tuple[str, ...]) -> None:
        """It takes none."""

    def expect_language(self, language: str | None) -> None:
        self.language, self._reports = language, True

    def in_language(self, language: str | None) -> Self:
        self._check(language)
        other = copy(self)
        other.language, other._reports = language, False
        return other

    def reload(self) -> None:
        self._model.reload()

    def recognise(
        self, samples: NDArray[np.float32], *, prompt: str = "", final: bool = False, language: str | None = None
    ) -> Hypothesis:
        if language is not None:
            raise UsageError(
                f"{self._files.folder.name} does not tell languages apart; choose a Whisper model with --asr"
            )
        if len(samples) < LEAST_LENGTH * SAMPLE_RATE:
            return Hypothesis(())
        try:
            tokens = self._model.recognise(samples)
        except Exception as error:  # onnxruntime's have no class of their own
            raise ModelError(f"The recogniser failed ({_reason(error)}); try another model.") from error
        words = tuple(words_of(tokens, self._model.pieces, self._model.frame, len(samples) / SAMPLE_RATE))
        return Hypothesis(words, language=self.language if self._reports and words else None)

    def _check(self, language: str | None) -> None:
        if language is None:
            raise UsageError(
                f"{self._files.folder.name} does not detect the language; name it with --from, or choose a Whisper "
                "model with --asr"
            )


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a transducer's folder."""

    folder: Path
    vocabulary: Path
    models: tuple[Path, ...]
    """Encoder, and decoder with joint or decoder and joiner."""
    config: Mapping[str, Any]


def find_files(folder: Path) -> Files:
    """Return the files of a folder; of several quantisations, the int8 one.

    Raises:
        ModelError: a file is missing or damaged.
    """
    advice = "give the folder of a NeMo TDT transducer in onnx-asr's or sherpa-onnx's layout"
    if not folder.is_dir():
        raise ModelError(f"There is no recogniser at {folder}; {advice}.")
    vocabulary = next((name for name in LAYOUTS if (folder / name).is_file()), None)
    if vocabulary is None:
        raise ModelError(f"{folder} is not a recogniser: it lacks {' or '.join(LAYOUTS)}; {advice}.")
    found = {part: _quantised(folder, part) for part in LAYOUTS[vocabulary]}
    if missing := [f"{part}.onnx" for part, path in found.items() if path is None]:
        raise ModelError(f"{folder} is not a recogniser: it lacks {', '.join(missing)}; {advice}.")
    config: Any = {}
    try:
        with suppress(FileNotFoundError):
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}/config.json cannot be read ({as_clause(error)}); copy the model again.") from error
    models = tuple(path for path in found.values() if path)
    return Files(folder, folder / vocabulary, models, config if isinstance(config, dict) else {})


def _quantised(folder: Path, part: str) -> Path | None:
    files = [folder / f"{part}.int8.onnx", folder / f"{part}.onnx", *sorted(folder.glob(f"{part}.*.onnx"))]
    return next((path for path in files if path.is_file()), None)


def _weights(model: Path) -> Path:
    """Return the largest file of a model, which may have its weights beside it."""
    return max(model.parent.glob(f"{model.name}*"), key=lambda path: path.stat().st_size)


def _reason(error: Exception) -> str:
    return _CODE.sub("", as_clause(error))


class Transducer:
    """The loaded model: tokens out of sound."""

    def __init__(self, files: Files, threads: int) -> None:
        """`threads`: 0 lets onnxruntime choose."""
        self._files, self._threads = files, threads
        self.pieces = read_pieces(files.vocabulary)
        """Text by its token."""
        self.reload()

    def reload(self) -> None:
        self._sessions: list[Any] = []  # First, so that memory need not hold two.
        folder = self._files.folder
        try:
            self._sessions = [_open(path, self._threads) for path in self._files.models]
        except Exception as error:
            raise ModelError(
                f"The recogniser in {folder} cannot be loaded ({_reason(error)}); copy or fetch it again."
            ) from error
        encoder, *decoder = self._sessions
        stated: dict[str, Any] = {**encoder.get_modelmeta().custom_metadata_map, **self._files.config}
        bands, results = encoder.get_inputs()[0].shape[1], decoder[-1].get_outputs()[0].shape[-1]
        inputs = [len(session.get_inputs()) for session in self._sessions]
        if inputs != [2, 5] and inputs != [2, 4, 2]:
            raise self._fault("its models are not those of a transducer")
        if stated.get("normalize_type", "per_feature") != "per_feature":
            raise self._fault("its features are not NeMo's usual ones")
        if isinstance(results, int) and results <= len(self.pieces):
            raise self._fault("it does not say how long its tokens last")
        bands = _size(bands, stated, "features_size", "feat_dim")
        self._filters, self._blank = mel_filters(bands), self.pieces.index(BLANK)
        self.frame = HOP / SAMPLE_RATE * _size(None, stated, "subsampling_factor")
        """Seconds of an encoded frame."""
        layers, _, width = decoder[0].get_inputs()[-1].shape
        sizes = _size(layers, stated, "pred_rnn_layers"), 1, _size(width, stated, "pred_hidden")
        self._beginning = [np.zeros(sizes, np.float32)] * 2

    def _fault(self, what: str) -> ModelError:
        return ModelError(
            f"{self._files.folder} is not a NeMo TDT transducer: {what}; choose another recogniser with --asr."
        )

    def recognise(self, samples: NDArray[np.float32]) -> list[Token]:
        """Return the tokens of mono 16 kHz sound, shape (n,)."""
        features = features_of(samples, self._filters)
        padded = np.pad(features, ((0, 0), (0, 1)))  # as in training, where the last frame has silence after it
        encoded, count = _run(self._sessions[0], padded[None], [features.shape[-1]])[:2]
        return decode(encoded[0].T[: int(count[0])], self._predict, self._join, len(self.pieces), self._blank)

    def _predict(self, token: int, state: Sequence[Any] | None) -> tuple[Any, Sequence[Any]]:
        """Return what the predictor expects after a token, and its state; the state before the first token is None."""
        state = self._beginning if state is None else state
        if len(self._sessions) == 2:
            return token, state  # It is evaluated with the joint.
        expected, _, *after = _run(self._sessions[1], [[token]], [1], *state)
        return expected, after

    def _join(self, frame: NDArray[np.float32], expected: tuple[Any, Sequence[Any]]) -> tuple[Any, Sequence[Any]]:
        """Return the logits of tokens and durations at a frame, shape (pieces + durations,), and the state after it."""
        what, state = expected
        if len(self._sessions) == 2:
            logits, _, *state = _run(self._sessions[1], frame[None, :, None], [[what]], [1], *state)
        else:
            [logits] = _run(self._sessions[2], frame[None, :, None], what)
        return logits.reshape(-1), state


def _size(of_graph: Any, stated: Mapping[str, Any], *names: str) -> int:
    """Return a size that a graph fixes, or else the first one that is stated by these names; NeMo's usual without."""
    usual = {"features_size": 80, "subsampling_factor": 8, "pred_rnn_layers": 1, "pred_hidden": 640}
    numbers = [value for value in (of_graph, *map(stated.get, names)) if str(value).isdigit() and int(value)]
    return int(next(iter(numbers), usual[names[0]]))


def _open(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # Failures are raised too.
    # Threads that wait by spinning would take the translator's time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=PROVIDERS)


def _run(session: Any, *values: Any) -> list[Any]:
    """Run a model on its inputs in their order: exports number some of their names."""
    kinds = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
    given = zip(session.get_inputs(), values, strict=True)
    feed = {one.name: np.asarray(value, kinds.get(one.type, np.float32)) for one, value in given}
    outputs: list[Any] = session.run(None, feed)
    return outputs


def read_pieces(vocabulary: Path) -> tuple[str, ...]:
    """Return the pieces of text by their tokens, the blank included.

    Raises:
        ModelError: the file is damaged.
    """
    try:
        lines = vocabulary.read_text(encoding="utf-8").split("\n")  # Pieces may be other ends of lines.
        pieces = {int(number): piece for piece, _, number in (line.rpartition(" ") for line in lines if line)}
        if sorted(pieces) != list(range(len(pieces))) or BLANK not in pieces.values():
            raise ValueError(f"it has no {BLANK}, or not every number from 0 on")
    except (OSError, ValueError) as error:
        raise ModelError(f"{vocabulary} cannot be read ({as_clause(error)}); copy the model again.") from error
    return tuple(pieces[number] for number in range(len(pieces)))


def mel_filters(bands: int) -> NDArray[np.float32]:
    """Return NeMo's filters, shape (bands, frequencies): faster-whisper has the same."""
    from faster_whisper.feature_extractor import FeatureExtractor

    return np.asarray(FeatureExtractor.get_mel_filters(SAMPLE_RATE, TRANSFORM, bands), np.float32)


def features_of(samples: NDArray[np.float32], filters: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return NeMo's features of mono 16 kHz sound: log-mel, each band normalised, shape (bands, frames of 10 ms)."""
    emphasised = np.append(samples[:1], samples[1:] - PREEMPHASIS * samples[:-1])
    padded = np.pad(emphasised, TRANSFORM // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, TRANSFORM)[::HOP][: len(samples) // HOP]
    spectrum = np.abs(np.fft.rfft(frames * np.pad(np.hanning(WINDOW), (TRANSFORM - WINDOW) // 2))) ** 2
    bands = np.log(filters @ spectrum.T.astype(np.float32) + LEAST_POWER)
    means, deviations = bands.mean(axis=1, keepdims=True), bands.std(axis=1, ddof=1, keepdims=True)
    features: NDArray[np.float32] = (bands - means) / (deviations + LEAST_DEVIATION)
    return features


def decode(
    frames: NDArray[np.float32], predict: Callable[..., Any], join: Callable[..., Any], pieces: int, blank: int
) -> list[Token]:
    """Write tokens greedily, as NeMo does: at each frame the likeliest, then as many frames on as it lasts.

    `frames`: encoded, shape (n, width). `predict` takes a token and the state before it, at first None; `join` takes a
    frame and what `predict` returned, and returns logits of the pieces, then of durations from 0 on, and the state.
    """
    tokens: list[Token] = []
    at = here = 0
    expected = predict(blank, None)
    while at < len(frames):
        logits, state = join(frames[at], expected)
        scores = logits[:pieces]
        token, step = int(scores.argmax()), int(logits[pieces:].argmax())
        if token != blank:
            tokens.append(Token(token, at, step, float(scores[token] - np.logaddexp.reduce(scores))))
            expected = predict(token, state)
            here += 1
        if token == blank or here == MOST_TOKENS:
            step = max(step, 1)
        at += step
        here = 0 if step else here
    return tokens


def words_of(tokens: Iterable[Token], pieces: Sequence[str], frame: float, length: float) -> Iterator[Word]:
    """Yield the words of the tokens in `length` seconds of sound; `frame`: seconds of an encoded frame."""
    words: list[list[Token]] = []
    for token in tokens:
        piece = pieces[token.piece]
        if _CONTROL.fullmatch(piece):
            continue
        if not words or piece.startswith(WORD_START) or has_unspaced_script(piece):
            words.append([])
        words[-1].append(token)
    for word in words:
        text = "".join(pieces[token.piece] for token in word).replace(WORD_START, "")
        if text:
            end = word[-1].start + max(word[-1].frames, 1)
            sure = sum(math.exp(token.likelihood) for token in word) / len(word)
            yield Word(text, min(word[0].start * frame, length), min(end * frame, length), sure)
