"""whisper.cpp behind the recogniser port: it computes on the GPU of a Mac, in a process of its own.

It brings another ggml than llama.cpp's, and a failed assertion ends its process, which is then started again. What a
pass sends there are faster-whisper's features, and what comes back are tokens with the ends of their sound, so that
words, times and guards are those of the other engine.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import subprocess
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from typing import IO, Any

import numpy as np
import regex
from faster_whisper import WhisperModel
from faster_whisper.feature_extractor import FeatureExtractor
from faster_whisper.tokenizer import Tokenizer
from numpy.typing import NDArray

from livetrans.base.errors import ModelError
from livetrans.base.installation import install_command, is_installed, start_python
from livetrans.config import RecogniserSettings
from livetrans.speech.whisper_model import STATED, as_clause
from livetrans.speech.whisper_pass import CLOSING, OPENING, WhisperPasses, usual_threads

LIBRARY = "_pywhispercpp"
_PROCESS = "livetrans.speech.whisper_cpp_process"
MOST_TOKENS = 220
"""whisper.cpp's limit of new tokens."""
MOST_PROMPT_TOKENS = 223
LEAST_FRAMES = 50
"""Shorter sound is padded with zeros: whisper.cpp skips up to 10 frames, and its word times fail for up to 15."""
_SPLIT = regex.compile(r"'(?:[stmd]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
"""GPT-2's: text is cut so before its byte pairs are merged."""


MAGIC = 0x67676D6C
"""First four bytes of the format: `ggml`, least byte first."""
MULTILINGUAL = 51_865
"""Size of the vocabulary from which a model has languages: one token more than an English one, and one for each."""
_HEADS = {
    (4, 4): "TINY", (6, 6): "BASE", (12, 12): "SMALL", (24, 24): "MEDIUM", (32, 32): "LARGE_V2",
    (32, 4): "LARGE_V3_TURBO",
}  # fmt: skip
"""whisper.cpp's names of the heads that give word times, by the layers of OpenAI's encoders and decoders."""


@dataclass(frozen=True, slots=True)
class WhisperFile:
    """The head of a model's file."""

    vocabulary: int
    """Tokens, those of times and tasks included."""
    encoder_layers: int
    decoder_layers: int
    bands: int
    pieces: tuple[bytes, ...]
    """Text by its token."""

    @property
    def languages(self) -> int:
        """Number of languages that have a token, used or not."""
        return max(self.vocabulary - MULTILINGUAL, 0) + 99

    @property
    def heads(self) -> str | None:
        """whisper.cpp's name of the model's heads for word times; None for the upper half of all layers."""
        name = _HEADS.get((self.encoder_layers, self.decoder_layers))
        if name == "LARGE_V2" and self.vocabulary > MULTILINGUAL:
            return "LARGE_V3"
        return name and (name if self.vocabulary >= MULTILINGUAL else f"{name}_EN")


def read_head(path: Path) -> WhisperFile:
    """Read the head of a model in whisper.cpp's format.

    Raises:
        ModelError: the file is not there, or no such model.
    """
    try:
        with path.open("rb") as file:
            magic, vocabulary, _, _, _, encoder, _, _, _, decoder, bands, _ = struct.unpack("<12i", file.read(48))
            rows, columns, *_ = struct.unpack("<2i", file.read(8))
            if magic != MAGIC or not 0 < rows * columns < 1 << 20:
                raise ValueError
            file.seek(4 * rows * columns, io.SEEK_CUR)
            pieces = tuple(_piece(file) for _ in range(*struct.unpack("<i", file.read(4))))
            if not pieces:
                raise ValueError
    except FileNotFoundError:
        raise ModelError(f"There is no recogniser at {path}; give a Whisper model in whisper.cpp's format.") from None
    except (OSError, ValueError, struct.error) as error:
        raise ModelError(f"{path} is not a Whisper model in whisper.cpp's format; copy or fetch it again.") from error
    return WhisperFile(vocabulary, encoder, decoder, bands, pieces)


def _piece(file: IO[bytes]) -> bytes:
    (length,) = struct.unpack("<i", file.read(4))
    if not 0 <= length < 1 << 10:
        raise ValueError
    return file.read(length)


class _Pieces(Tokenizer):  # type: ignore[misc]
    """faster-whisper's tokenizer on a vocabulary without merges: the pair whose piece comes first is merged first."""

    def __init__(self, head: WhisperFile, language: str) -> None:
        self.language_code = language
        self.tokenizer = self
        self._pieces = head.pieces
        # The tokens after the text, in OpenAI's order: end, start, languages, six for tasks, 1,501 times.
        self.eot = head.vocabulary - 1501 - 8 - head.languages
        self.no_timestamps = head.vocabulary - 1501 - 1

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {piece: rank for rank, piece in reversed(list(enumerate(self._pieces)))}

    def encode(self, text: str) -> list[int]:
        ranks, tokens = self._ranks, []
        for part in _SPLIT.findall(text):
            pieces = [bytes([byte]) for byte in part.encode()]
            while len(pieces) > 1:
                place = min(range(len(pieces) - 1), key=lambda at: ranks.get(pieces[at] + pieces[at + 1], len(ranks)))
                merged = pieces[place] + pieces[place + 1]
                if merged not in ranks:
                    break
                pieces[place : place + 2] = [merged]
            tokens += [ranks[piece] for piece in pieces]
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(self._pieces[token] for token in tokens if token < self.eot).decode(errors="replace")


class WhisperCppRecogniser(WhisperPasses):
    """A Whisper model from a file in whisper.cpp's format."""

    def __init__(self, settings: RecogniserSettings) -> None:
        head, stated = read_head(settings.model), settings.model.with_suffix(".json")
        if not is_installed(LIBRARY):
            raise ModelError(
                f"The recogniser {settings.model.name} needs whisper.cpp, which is not installed; "
                f"install it with: {install_command('metal')}"
            )
        found: Any = None
        with suppress(OSError, ValueError):
            found = json.loads(stated.read_text(encoding="utf-8"))
        config: dict[str, Any] = found if isinstance(found, dict) else {}
        self._extract = FeatureExtractor(feature_size=head.bands)
        threads = settings.threads or usual_threads(settings.model)
        heads = head.heads or max(head.decoder_layers // 2, 1)
        self._process = _Process(settings.model, {"heads": heads, "threads": threads})
        # Its table of pieces is made once for each language.
        tokenizer = cache(partial(_Pieces, head))
        super().__init__(
            settings,
            config,
            0 if STATED in config else head.vocabulary,
            tuple(self._process.languages[: head.languages]) if head.vocabulary >= MULTILINGUAL else ("en",),
            tokenizer,
        )

    @property
    def gpu(self) -> str | None:
        """ggml's name of the GPU that it computes on; None on the processor."""
        return self._process.gpu

    def reload(self) -> None:
        self._process.start()

    def _features(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        features: NDArray[np.float32] = self._extract(samples)
        return features

    def _encode(self, features: NDArray[np.float32], window: int) -> Any:
        missing = max(LEAST_FRAMES - features.shape[-1], 0)
        # whisper.cpp encodes when it decodes, and pads with zeros itself.
        self._process.ask({"features": features.shape[-1] + missing}, np.pad(features, ((0, 0), (0, missing))))
        return window

    def _detected(self, encoded: Any) -> dict[str, float]:
        probabilities: dict[str, float] = self._process.ask({"detect": True})["probabilities"]
        return probabilities

    def _decode(self, encoded: Any, tokenizer: Any, previous: Sequence[int], limit: int) -> tuple[Sequence[int], float]:
        words = self.hot_words
        hot = tokenizer.encode(f" {', '.join(words)}") if words else []
        room = MOST_PROMPT_TOKENS - len(hot)
        limit = min(limit, MOST_TOKENS)
        answer = self._process.ask(
            {
                "language": tokenizer.language_code,
                "positions": encoded // 2,
                "prompt": [*hot, *previous[-room:]],
                "limit": limit,
                "no_speech": self.traits.no_speech,
                "unlikely": self.traits.unlikely,
                "beam_size": self._beam_size,
            }
        )
        tokens: list[int] = answer["tokens"]
        self._ends: list[float] = answer["ends"]
        self._chances: list[float] = answer["chances"]
        return ((), -math.inf) if not 0 < len(tokens) < limit else (tokens, answer["likelihood"])

    def _time_words(self, segments: list[dict[str, Any]], tokenizer: Any, encoded: Any, frames: int) -> None:
        # The function needs a model for the alignment alone.
        WhisperModel.add_word_timestamps(
            _Alignment(self._ends, self._chances),
            [segments],
            tokenizer,
            None,
            frames,
            OPENING,
            CLOSING,
            last_speech_timestamp=0.0,
        )


class _Alignment:
    """Known ends and probabilities of tokens, as faster-whisper's `add_word_timestamps` asks its model for them."""

    frames_per_second = 100

    def __init__(self, ends: Sequence[float], chances: Sequence[float]) -> None:
        """`ends`: seconds, of each token of text; `chances`: its probability."""
        self._ends, self._chances = ends, chances

    def find_alignment(
        self, tokenizer: Any, text_tokens: Sequence[Sequence[int]], encoded: None, frames: int
    ) -> list[list[dict[str, Any]]]:
        [tokens] = text_tokens
        words, pieces = tokenizer.split_to_word_tokens([*tokens, tokenizer.eot])
        times = [0.0, *(min(end, frames / self.frames_per_second) for end in self._ends)]
        borders = pairwise(accumulate(map(len, pieces[:-1]), initial=0))
        return [
            [
                {
                    "word": word,
                    "tokens": part,
                    "start": times[first],
                    "end": times[last],
                    "probability": fmean(self._chances[first:last]),
                }
                for word, part, (first, last) in zip(words[:-1], pieces[:-1], borders, strict=True)
            ]
        ]


class _Process:
    """The process that computes, see `livetrans.speech.whisper_cpp_process`."""

    def __init__(self, model: Path, options: dict[str, Any]) -> None:
        self._model, self._options = model, options
        self._end: Callable[[], object] = lambda: None
        self.start()

    def start(self) -> None:
        """Start the process, in place of an earlier one.

        Raises:
            ModelError: it cannot load the model.
        """
        self._end()
        pipe = subprocess.PIPE
        process = start_python(_PROCESS, str(self._model.resolve()), json.dumps(self._options), stdin=pipe, stdout=pipe)
        self.id = process.pid
        assert process.stdin and process.stdout
        self._requests, self._answers = io.BufferedWriter(process.stdin), io.BufferedReader(process.stdout)  # type: ignore[type-var]
        self._child = process
        self._end = weakref.finalize(self, _end, process)
        try:
            loaded = self._answer()
        except RuntimeError as error:
            reason = as_clause(error)
            raise ModelError(f"The recogniser in {self._model} cannot be loaded ({reason}); copy it again.") from error
        self.languages: list[str] = loaded["languages"]
        self.gpu = gpu_in(loaded["log"])

    def ask(self, request: dict[str, Any], features: NDArray[np.float32] | None = None) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            RuntimeError: it failed, or the process has ended.
        """
        message = json.dumps(request).encode() + b"\n"
        if features is not None:
            message += np.ascontiguousarray(features, dtype="<f4").tobytes()
        with suppress(OSError):  # The answer says why.
            self._requests.write(message)
            self._requests.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise RuntimeError(f"whisper.cpp has ended with code {self._child.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "fault" in answer:
            raise RuntimeError(answer["fault"])
        return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def gpu_in(log: str) -> str | None:
    """Return ggml's name of the GPU that was started, by what whisper.cpp printed as it loaded a model."""
    found = re.search(r"^whisper_backend_init_gpu: using (\S+) backend$", log, re.MULTILINE)
    return found[1] if found and f"failed to initialize {found[1]} backend" not in log else None
