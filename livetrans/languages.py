"""Languages by code and by English name: names for prompts, codes for Whisper, and how they are written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from livetrans.errors import UsageError

AUTO = "auto"
"""In place of a source language: the recogniser detects it."""

_WHISPER_NAMES = {
    "af": "Afrikaans",
    "am": "Amharic",
    "ar": "Arabic",
    "as": "Assamese",
    "az": "Azerbaijani",
    "ba": "Bashkir",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "bo": "Tibetan",
    "br": "Breton",
    "bs": "Bosnian",
    "ca": "Catalan",
    "cs": "Czech",
    "cy": "Welsh",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "eu": "Basque",
    "fa": "Persian",
    "fi": "Finnish",
    "fo": "Faroese",
    "fr": "French",
    "gl": "Galician",
    "gu": "Gujarati",
    "ha": "Hausa",
    "haw": "Hawaiian",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "ht": "Haitian Creole",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "jw": "Javanese",
    "ka": "Georgian",
    "kk": "Kazakh",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "la": "Latin",
    "lb": "Luxembourgish",
    "ln": "Lingala",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mg": "Malagasy",
    "mi": "Maori",
    "mk": "Macedonian",
    "ml": "Malayalam",
    "mn": "Mongolian",
    "mr": "Marathi",
    "ms": "Malay",
    "mt": "Maltese",
    "my": "Burmese",
    "ne": "Nepali",
    "nl": "Dutch",
    "nn": "Norwegian Nynorsk",
    "no": "Norwegian",
    "oc": "Occitan",
    "pa": "Punjabi",
    "pl": "Polish",
    "ps": "Pashto",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sa": "Sanskrit",
    "sd": "Sindhi",
    "si": "Sinhala",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sn": "Shona",
    "so": "Somali",
    "sq": "Albanian",
    "sr": "Serbian",
    "su": "Sundanese",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "tg": "Tajik",
    "th": "Thai",
    "tk": "Turkmen",
    "tl": "Tagalog",
    "tr": "Turkish",
    "tt": "Tatar",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "uz": "Uzbek",
    "vi": "Vietnamese",
    "yi": "Yiddish",
    "yo": "Yoruba",
    "yue": "Cantonese",
    "zh": "Chinese",
}

_VARIANTS = {
    "pt-BR": ("Brazilian Portuguese", "pt"),
    "pt-PT": ("European Portuguese", "pt"),
    "zh-CN": ("Simplified Chinese", "zh"),
    "zh-Hans": ("Simplified Chinese", "zh"),
    "zh-Hant": ("Traditional Chinese", "zh"),
    "zh-TW": ("Traditional Chinese", "zh"),
}
"""Ways of writing a language that translators tell apart and Whisper does not: name and Whisper code."""

_TRANSLATED_ONLY = {
    "ceb": "Cebuano",
    "eo": "Esperanto",
    "ga": "Irish",
    "gd": "Scottish Gaelic",
    "ig": "Igbo",
    "ku": "Kurdish",
    "ky": "Kyrgyz",
    "or": "Odia",
    "ug": "Uyghur",
    "xh": "Xhosa",
    "zu": "Zulu",
}
"""Languages that translators know and Whisper does not."""

_ALIASES = {
    "castilian": "es",
    "farsi": "fa",
    "fil": "tl",
    "filipino": "tl",
    "flemish": "nl",
    "haitian": "ht",
    "iw": "he",
    "jv": "jw",
    "mandarin": "zh",
    "moldavian": "ro",
    "myanmar": "my",
    "nb": "no",
    "nynorsk": "nn",
    "panjabi": "pa",
    "pushto": "ps",
    "sinhalese": "si",
    "valencian": "ca",
}

_UNSPACED = frozenset({"bo", "ja", "km", "lo", "my", "th", "yue", "zh"})
"""Written without spaces between words, by Whisper code."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language as this program speaks of it."""

    code: str
    """The code in its usual spelling: `de`, `pt-BR`."""
    name: str
    """English name, as prompts write it."""
    spaced: bool
    """Whether words are separated by spaces: a caption can then be cut at a word boundary."""
    whisper_code: str | None
    """Whisper's code; None for a language that Whisper does not know."""


def _table() -> dict[str, Language]:
    """Every language by its code in small letters."""
    languages = [Language(code, name, code not in _UNSPACED, code) for code, name in _WHISPER_NAMES.items()]
    languages += [Language(code, name, base not in _UNSPACED, base) for code, (name, base) in _VARIANTS.items()]
    languages += [Language(code, name, True, None) for code, name in _TRANSLATED_ONLY.items()]
    return {language.code.lower(): language for language in languages}


LANGUAGES = _table()


def parse_language(code: str) -> Language:
    """The language meant by a code (`de`, `pt-br`) or an English name (`German`), whatever its case.

    Raises:
        UsageError: no such language; the message names languages spelled like it.
    """
    asked = code.strip().lower().replace("_", "-")
    by_name = {language.name.lower(): language for language in reversed(LANGUAGES.values())}
    found = LANGUAGES.get(_ALIASES.get(asked, asked)) or by_name.get(asked.replace("-", " "))
    if found is None:
        # A regional code that makes no difference here means its language: en-GB, de-AT.
        base, _, region = asked.partition("-")
        found = LANGUAGES.get(_ALIASES.get(base, base)) if region.isalpha() else None
    if found is None:
        raise UsageError(f"unknown language {code!r}; {_advice(asked, list(by_name))}")
    return found


def _advice(asked: str, names: list[str]) -> str:
    close = difflib.get_close_matches(asked, [*names, *_ALIASES, *LANGUAGES], n=3, cutoff=0.6)
    meant = dict.fromkeys(_spelled(word) for word in close)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return "use a code such as en, de, fr or zh-TW, or the language's English name"


def _spelled(word: str) -> str:
    """`de (German)` for a code, an alias or a name in small letters."""
    language = LANGUAGES.get(_ALIASES.get(word, word))
    if language is None:
        language = next(language for language in LANGUAGES.values() if language.name.lower() == word)
    return f"{language.code} ({language.name})"
