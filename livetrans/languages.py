"""Languages by code and by name: names for prompts, codes for Whisper, and how they are written."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from livetrans.errors import UsageError

AUTO = "auto"
"""In place of a source language: the recogniser detects it."""


def _names(table: str) -> dict[str, str]:
    """Parse `de German, en English` into names by code."""
    return {code: name for code, _, name in (entry.strip().partition(" ") for entry in table.split(","))}


_WHISPER_NAMES = _names(
    """
    af Afrikaans, am Amharic, ar Arabic, as Assamese, az Azerbaijani, ba Bashkir, be Belarusian, bg Bulgarian,
    bn Bengali, bo Tibetan, br Breton, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish, de German, el Greek,
    en English, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fo Faroese, fr French, gl Galician,
    gu Gujarati, ha Hausa, haw Hawaiian, he Hebrew, hi Hindi, hr Croatian, ht Haitian Creole, hu Hungarian,
    hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, jw Javanese, ka Georgian, kk Kazakh,
    km Khmer, kn Kannada, ko Korean, la Latin, lb Luxembourgish, ln Lingala, lo Lao, lt Lithuanian, lv Latvian,
    mg Malagasy, mi Maori, mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese,
    ne Nepali, nl Dutch, nn Norwegian Nynorsk, no Norwegian, oc Occitan, pa Punjabi, pl Polish, ps Pashto,
    pt Portuguese, ro Romanian, ru Russian, sa Sanskrit, sd Sindhi, si Sinhala, sk Slovak, sl Slovenian, sn Shona,
    so Somali, sq Albanian, sr Serbian, su Sundanese, sv Swedish, sw Swahili, ta Tamil, te Telugu, tg Tajik,
    th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese,
    yi Yiddish, yo Yoruba, yue Cantonese, zh Chinese
    """
)

_VARIANTS = _names(
    """
    pt-BR Brazilian Portuguese, pt-PT European Portuguese, zh-Hans Simplified Chinese, zh-Hant Traditional Chinese
    """
)
"""Variants that translators tell apart and Whisper does not; the code before the dash is Whisper's."""

_TRANSLATED_ONLY = _names(
    """
    ceb Cebuano, eo Esperanto, ga Irish, gd Scottish Gaelic, ig Igbo, ku Kurdish, ky Kyrgyz, or Odia, ug Uyghur,
    xh Xhosa, zu Zulu
    """
)
"""Languages of translators that Whisper does not have."""

_ALIASES = {
    other: code
    for code, others in _names(
        """
        he iw, jw jv, no nb, ro mo, tl fil, zh cmn, zh-Hans zh-cn zh-sg, zh-Hant zh-tw zh-hk zh-mo, id in, yi ji,
        yue zh-yue
        """
    ).items()
    for other in others.split()
}
"""Codes by other codes for the same language."""

_UNSPACED = frozenset({"bo", "ja", "km", "lo", "my", "th", "yue", "zh"})
"""Written without spaces between words, by Whisper code."""

_NEAR = 0.85
"""Likeness (difflib) from which a spelling is worth a suggestion: `geerman` is that near to `german`."""

_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, its name, and how it is written."""

    code: str
    """The code in its usual spelling: `de`, `pt-BR`."""
    name: str
    """English name, as prompts write it."""
    spaced: bool
    """Whether words are separated by spaces: a caption can then be cut at a word boundary."""
    whisper_code: str | None
    """Whisper's code; None for a language that Whisper does not have."""

    @property
    def right_to_left(self) -> bool:
        return self.code in _RIGHT_TO_LEFT


def _table() -> dict[str, Language]:
    """Return every language by its code in small letters."""
    languages = [Language(code, name, code not in _UNSPACED, code) for code, name in _WHISPER_NAMES.items()]
    languages += [Language(code, name, code[:2] not in _UNSPACED, code[:2]) for code, name in _VARIANTS.items()]
    languages += [Language(code, name, True, None) for code, name in _TRANSLATED_ONLY.items()]
    return {language.code.lower(): language for language in languages}


LANGUAGES = _table()


def parse_language(text: str) -> Language:
    """Return the language of a BCP-47 code (`de`, `pt_BR`) or of a name in any language (`German`, `Deutsch`).

    Case is ignored, and so are subtags without an effect here: `en-GB` is `en`, `zh-Hant-TW` is `zh-Hant`.

    Raises:
        UsageError: no such language; the message names languages spelled like it.
    """
    wanted = text.strip().lower().replace("_", "-")
    by_name = {language.name.lower(): language for language in reversed(LANGUAGES.values())}
    found = by_name.get(" ".join(wanted.replace("-", " ").split())) or _by_code(wanted) or _by_code(_code_named(text))
    if found is None:
        raise UsageError(f"unknown language {text!r}; {_advice(wanted, list(by_name))}")
    return found


def check_different(spoken: str, shown: str) -> None:
    """Raises UsageError where both are the same language; each is a code or a name, or `auto`."""
    language = None if spoken.strip().lower() == AUTO else parse_language(spoken)
    if language == parse_language(shown):
        raise UsageError(f"--from and --to are both {language.name}; choose another language for one of them")


def _by_code(code: str) -> Language | None:
    subtags = code.lower().split("-")
    prefixes = ("-".join(subtags[:count]) for count in range(len(subtags), 0, -1))
    return next(filter(None, (LANGUAGES.get(_ALIASES.get(prefix, prefix).lower()) for prefix in prefixes)), None)


def _code_named(name: str) -> str:
    """Return the code of the language with this name in any language; empty if there is none."""
    # Imported here because few runs need it.
    import langcodes

    if not name.isprintable():  # control characters crash the library's index
        return ""
    try:
        return langcodes.find(name).to_tag()
    except LookupError:
        return ""


def _advice(wanted: str, names: list[str]) -> str:
    close = difflib.get_close_matches(wanted, [*names, *_ALIASES, *LANGUAGES], n=3, cutoff=_NEAR)
    meant = dict.fromkeys(_spelled(word) for word in close)
    if meant:
        return f"did you mean {' or '.join(meant)}? `livetrans languages` lists all"
    return "use a code such as en, de, fr or zh-Hant, or the name; `livetrans languages` lists all"


def _spelled(word: str) -> str:
    """Return `de (German)` for a code, an alias or a name in small letters."""
    language = LANGUAGES.get(_ALIASES.get(word, word).lower())
    if language is None:
        language = next(language for language in LANGUAGES.values() if language.name.lower() == word)
    return f"{language.code} ({language.name})"
