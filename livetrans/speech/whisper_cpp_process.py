"""The process in which whisper.cpp computes; the only importer of `_pywhispercpp`.

It reads requests from standard input, a line of JSON each, and writes a line of JSON for each to standard output:

- `{"features": FRAMES}`, followed by float32 numbers, bands times frames: the sound of the requests that follow;
- `{"detect": true}`: the probabilities of the languages;
- `{"language", "positions", "prompt", "limit", "beam_size"}`: the tokens, the ends of those of text in seconds and
  their probabilities, and the mean log-probability.

The first line that it writes has the codes of the languages, and what the library printed as it loaded the model;
`fault` in a line says what failed. It ends when its standard input does. The package's own class takes sound,
not features, and gives no times of tokens.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from itertools import accumulate
from typing import IO, Any

import _pywhispercpp as cpp
import numpy as np

ALIGNMENT_BYTES = 512 * 1024 * 1024
"""Most memory for word times, which whisper.cpp fails without; what is not needed is not taken."""


class Model:
    """A loaded model, and the features that it was given last."""

    def __init__(self, path: str, heads: str | int, threads: int) -> None:
        """`heads`: whisper.cpp's name of the heads for word times, or how many of the upper layers have them."""
        parameters = cpp.whisper_context_default_params()
        # whisper.cpp takes word times from attention that is written out.
        parameters.flash_attn = False
        parameters.dtw_token_timestamps = True
        parameters.dtw_mem_size = ALIGNMENT_BYTES
        presets = cpp.whisper_alignment_heads_preset
        if isinstance(heads, int):
            parameters.dtw_aheads_preset, parameters.dtw_n_top = presets.WHISPER_AHEADS_N_TOP_MOST, heads
        else:
            parameters.dtw_aheads_preset = getattr(presets, f"WHISPER_AHEADS_{heads}")
        self._context = cpp.whisper_init_from_file_with_params(path, parameters)
        self._bands = cpp.whisper_model_n_mels(self._context)
        self._threads = threads
        self.languages = [cpp.whisper_lang_str(number) for number in range(cpp.whisper_lang_max_id() + 1)]

    def take(self, request: dict[str, Any], stream: IO[bytes]) -> dict[str, Any]:
        frames = request["features"]
        features = np.frombuffer(stream.read(4 * self._bands * frames), "<f4").astype(np.float32)
        _check("features", cpp.whisper_set_mel(self._context, features, frames, self._bands))
        return {}

    def detect(self) -> dict[str, Any]:
        probabilities = np.zeros(len(self.languages), np.float32)
        best = cpp.whisper_lang_auto_detect(self._context, 0, self._threads, probabilities)
        _check("detection", min(best, 0))
        return {"probabilities": dict(zip(self.languages, probabilities.tolist(), strict=True))}

    def decode(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the tokens of one window, without the end of text, the ends of those of text in seconds and their
        probabilities, and the mean log-probability of a token.
        """
        beams = request["beam_size"]
        strategy = "BEAM_SEARCH" if beams > 1 else "GREEDY"
        strategies = cpp.whisper_sampling_strategy
        parameters = cpp.whisper_full_default_params(getattr(strategies, f"WHISPER_SAMPLING_{strategy}"))
        if beams > 1:
            parameters.beam_search = {"beam_size": beams, "patience": -1.0}
        parameters.n_threads = self._threads
        parameters.language = request["language"]
        parameters.audio_ctx = request["positions"]
        if request["prompt"]:
            parameters.set_prompt_tokens(request["prompt"])
        parameters.max_tokens = request["limit"] - 1
        # One window, and no retry at a higher temperature.
        parameters.single_segment = parameters.no_context = True
        parameters.temperature_inc = 0.0
        parameters.suppress_nst = True
        parameters.no_speech_thold, parameters.logprob_thold = request["no_speech"], request["unlikely"]
        parameters.print_progress = False
        # No samples: the features are those that were taken.
        _check("decoding", cpp.whisper_full(self._context, parameters, np.zeros(0, np.float32), 0))
        end = cpp.whisper_token_eot(self._context)
        found = [
            cpp.whisper_full_get_token_data(self._context, segment, place)
            for segment in range(cpp.whisper_full_n_segments(self._context))
            for place in range(cpp.whisper_full_n_tokens(self._context, segment))
        ]
        text = [token for token in found if token.id < end]
        times = accumulate((token.t_dtw / 100 for token in text), max, initial=0.0)
        tokens = [token.id for token in found if token.id != end]
        likelihood = sum(token.plog for token in found) / max(len(found), 1)
        return {
            "tokens": tokens,
            "ends": list(times)[1:],
            "chances": [token.p for token in text],
            "likelihood": likelihood,
        }


def _check(what: str, code: int) -> None:
    if code:
        raise RuntimeError(f"whisper.cpp's {what} failed with code {code}")


def serve(path: str, options: dict[str, Any], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Load the model, and answer requests until there are no more."""

    def answer(values: dict[str, Any]) -> None:
        answers.write(json.dumps(values).encode() + b"\n")
        answers.flush()

    with tempfile.TemporaryFile() as log:
        error = os.dup(2)
        os.dup2(log.fileno(), 2)
        model = Model(path, options["heads"], options["threads"])
        os.dup2(error, 2)
        log.seek(0)
        answer({"languages": model.languages, "log": log.read().decode(errors="replace")})
    while line := requests.readline():
        request = json.loads(line)
        try:
            if "features" in request:
                answer(model.take(request, requests))
            else:
                answer(model.detect() if "detect" in request else model.decode(request))
        except RuntimeError as error:
            answer({"fault": str(error)})


def _main() -> None:
    # What the library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.argv[1], json.loads(sys.argv[2]), open(0, "rb"), answers)
    # Without teardown: ggml's aborts where a device is in use.
    os._exit(0)


if __name__ == "__main__":
    _main()
