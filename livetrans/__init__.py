"""Live, private, translated captions in a terminal.

For research, this package has a few names of its own, which keep their meaning; everything else may change. They are
imported when they are asked for, so that `livetrans --help` loads no heavy library. `examples/minimal.py` uses them.
"""

TYPE_CHECKING = False  # Nothing is imported before the command line has taken the signals.
if TYPE_CHECKING:
    from livetrans.base.languages import parse_language as language
    from livetrans.config import DecodingSettings, LanguageModelSettings, MaskSettings, Settings
    from livetrans.decoding import DECODERS, Decoder
    from livetrans.decoding.loop import Decoded, Decoding, Draft
    from livetrans.events import Transcript, Translation
    from livetrans.lm.llama.model import LlamaModel
    from livetrans.lm.prompts import build_prompt, text_of_tokens
    from livetrans.metrics.captions import NormalizedErasure, ScreenErasure
    from livetrans.translation.translator import Translator

__version__ = "0.1.0"

_PUBLIC = {
    "base.languages:parse_language": ["language"],
    "config": ["DecodingSettings", "LanguageModelSettings", "MaskSettings", "Settings"],
    "decoding": ["DECODERS", "Decoder"],
    "decoding.loop": ["Decoded", "Decoding", "Draft"],
    "events": ["Transcript", "Translation"],
    "lm.llama.model": ["LlamaModel"],
    "lm.prompts": ["build_prompt", "text_of_tokens"],
    "metrics.captions": ["NormalizedErasure", "ScreenErasure"],
    "translation.translator": ["Translator"],
}
"""The public names, by the module that defines them."""

__all__ = [
    "DECODERS",
    "Decoded",
    "Decoder",
    "Decoding",
    "DecodingSettings",
    "Draft",
    "LanguageModelSettings",
    "LlamaModel",
    "MaskSettings",
    "NormalizedErasure",
    "ScreenErasure",
    "Settings",
    "Transcript",
    "Translation",
    "Translator",
    "build_prompt",
    "language",
    "text_of_tokens",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    from importlib import import_module

    for place, names in _PUBLIC.items():
        if name in names:
            module, _, own_name = place.partition(":")
            return getattr(import_module(f"livetrans.{module}"), own_name or name)
    raise AttributeError(f"livetrans has no public name {name}")
