"""Languages by code and by name: names for prompts, codes for Whisper, and how they are written."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

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

_REGION = re.compile(r"-[A-Z]{2}$")
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

_OTHER_CODES = _names("fil tl, jv jw, nb no, zh-CN zh-Hans, zh-SG zh-Hans, zh-TW zh-Hant, zh-HK zh-Hant, zh-MO zh-Hant")
"""Codes in langcodes' standard form by which the tables above have another."""

_OTHER_NAMES = _names("es castellano castilian, yue 广东话 廣東話, zh mandarin 汉语 漢語 国语 國語 普通话 普通話")
"""Names in use that CLDR does not have."""

_UNSPACED = frozenset({"bo", "ja", "km", "lo", "my", "th", "yue", "zh"})
"""Written without spaces between words, by Whisper code."""

_NEAR = 0.85
"""Likeness (difflib) from which a spelling is worth a suggestion: `geerman` is that near to `german`."""

_LONGEST_CODE = 3
"""Letters of the longest ISO 639 code. Names as short are often the code of another language."""

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


def _language(code: str, name: str) -> Language:
    base = code.partition("-")[0]
    return Language(code, name, base not in _UNSPACED, base if base in _WHISPER_NAMES else None)


LANGUAGES = {
    code.lower(): _language(code, name) for code, name in (_WHISPER_NAMES | _VARIANTS | _TRANSLATED_ONLY).items()
}
"""Every language by its code in small letters."""


def _folded(name: str) -> str:
    """Return a name in small letters, without accents and punctuation."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    # Marks of other scripts are their vowels.
    plain = (letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    return " ".join("".join(" " if unicodedata.category(letter)[0] == "P" else letter for letter in plain).split())


_BY_ENGLISH_NAME = {_folded(language.name): language for language in LANGUAGES.values()}


def parse_language(text: str) -> Language:
    """Return the language of a BCP-47 or ISO 639 code (`de`, `pt_BR`, `deu`) or name (`German`, `Deutsch`).

    Names are those of CLDR in all its languages. Case and accents are ignored, and so are subtags without an effect
    here: `en-GB` is `en`, `zh-Hant-TW` is `zh-Hant`.

    Raises:
        UsageError: no such language, or several; the message names languages spelled like it.
    """
    wanted = text.strip().replace("_", "-")
    name = _folded(wanted)
    if known := LANGUAGES.get(wanted.lower()) or _BY_ENGLISH_NAME.get(name) or _by_tag(wanted):
        return known
    found = _by_name().get(name, ())
    if len(found) == 1:
        return next(iter(found))
    raise UsageError(f"unknown language {text!r}; {_advice(name)}")


def require_two_languages(spoken: str, shown: str) -> None:
    """Check that two languages differ; each is a code or a name, the spoken one also `auto`.

    Raises:
        UsageError: they are the same, or one is unknown.
    """
    language = parse_language(shown)
    if spoken.strip().lower() != AUTO and parse_language(spoken) == language:
        raise UsageError(f"--from and --to are both {language.name}; choose another language for one of them")


def same_written_language(spoken: str, shown: str) -> bool:
    """Return whether captions in one language need no translation from the other; both are codes.

    Regions are the same (`pt` and `pt-BR`), scripts are not (`zh` and `zh-Hant`).
    """
    return spoken == shown or _REGION.sub("", spoken) == _REGION.sub("", shown)


def _by_tag(tag: str) -> Language | None:
    """Return the language of a valid BCP-47 tag, without the subtags that no language of the table has."""
    # Imported here because few runs need it.
    import langcodes

    if not langcodes.tag_is_valid(tag):
        return None
    subtags = langcodes.standardize_tag(tag, macro=True).split("-")
    prefixes = ("-".join(subtags[:count]) for count in range(len(subtags), 0, -1))
    return next(filter(None, (LANGUAGES.get(_OTHER_CODES.get(prefix, prefix).lower()) for prefix in prefixes)), None)


@cache
def _by_name() -> dict[str, dict[Language, None]]:
    """Return the languages by folded name, in all languages of CLDR; a few names are those of two."""
    from language_data.name_data import CODE_TO_NAMES

    # The inner dictionaries are sets that keep their order, for the advice.
    found = defaultdict(dict, {name: {language: None} for name, language in _BY_ENGLISH_NAME.items()})

    def add(language: Language, names: Iterable[str]) -> None:
        for name in map(_folded, names):
            if len(name) > _LONGEST_CODE or not name.isascii():
                found[name][language] = None

    for code, names in CODE_TO_NAMES.items():
        # Codes of regions and scripts begin with a digit or a capital.
        if code[0].islower() and (language := _by_tag(code)):
            add(language, names.values())
    for code in _VARIANTS:
        base, subtag = (CODE_TO_NAMES[part] for part in code.split("-"))
        add(LANGUAGES[code.lower()], (f"{base[within]} {subtag[within]}" for within in base.keys() & subtag))
    for code, others in _OTHER_NAMES.items():
        add(LANGUAGES[code], others.split())
    return found


def _advice(name: str) -> str:
    by_name = _by_name()
    # A word may be a whole name: `русский язык`.
    close = [word for word in (name, *name.split()) if word in by_name]
    close = close or difflib.get_close_matches(name, by_name, n=3, cutoff=_NEAR)
    meant = dict.fromkeys(f"{language.code} ({language.name})" for word in close for language in by_name[word])
    if meant:
        return f"did you mean {' or '.join(meant)}? `livetrans languages` lists all"
    return "use a code such as en, de, fr or zh-Hant, or the name; `livetrans languages` lists all"
