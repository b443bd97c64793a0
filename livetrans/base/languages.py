"""Languages by code and by name: names for prompts, codes for Whisper, and how they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from livetrans.base.errors import UsageError
from livetrans.base.text import nearest

AUTO = "auto"
"""Stands for a spoken language that the recogniser detects."""


def _names(table: str) -> dict[str, str]:
    """Return names by code from `de German, en English`."""
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
"""Variants that only translators tell apart; the code before the dash is Whisper's."""

_TRANSLATED_ONLY = _names(
    """
    ceb Cebuano, eo Esperanto, ga Irish, gd Scottish Gaelic, ig Igbo, ku Kurdish, ky Kyrgyz, or Odia, ug Uyghur,
    xh Xhosa, zu Zulu
    """
)
"""Languages that translators know and Whisper does not."""

_OTHER_CODES = _names("fil tl, jv jw, nb no, zh-CN zh-Hans, zh-SG zh-Hans, zh-TW zh-Hant, zh-HK zh-Hant, zh-MO zh-Hant")
"""Standard codes for which the tables above have another."""

_OTHER_NAMES = _names("es castellano castilian, yue 广东话 廣東話, zh mandarin 汉语 漢語 国语 國語 普通话 普通話")
"""Names in use that langcodes does not know."""

_UNSPACED = frozenset({"bo", "ja", "km", "lo", "my", "th", "yue", "zh"})
"""Written without spaces between words, by Whisper code."""

_LONGEST_CODE = 3
"""Letters of the longest ISO 639 code. A name as short is often the code of another language."""

_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its code, its name, and how it is written."""

    code: str
    """The code in its usual spelling: `de`, `pt-BR`."""
    name: str
    """English name, as prompts write it."""
    spaced: bool
    """Whether spaces separate words, so that a caption can be cut at one."""
    whisper_code: str | None
    """Whisper's code; None if Whisper does not know the language."""

    @property
    def right_to_left(self) -> bool:
        return self.code in _RIGHT_TO_LEFT


def _language(code: str, name: str) -> Language:
    base = code.partition("-")[0]
    return Language(code, name, base not in _UNSPACED, base if base in _WHISPER_NAMES else None)


LANGUAGES = {
    code.lower(): _language(code, name) for code, name in (_WHISPER_NAMES | _VARIANTS | _TRANSLATED_ONLY).items()
}
"""Every language by its code in lower case."""


_BY_NAME = {language.name.lower(): language for language in LANGUAGES.values()} | {
    name: LANGUAGES[code] for code, names in _OTHER_NAMES.items() for name in names.split()
}


def parse_language(text: str) -> Language:
    """Return the language of a BCP-47 or ISO 639 code (`de`, `pt_BR`, `deu`) or of a name (`German`, `Deutsch`).

    Names are those of CLDR in all its languages, in any case. Subtags without an effect here are ignored: `en-GB` is
    `en`, `zh-Hant-TW` is `zh-Hant`.

    Raises:
        UsageError: there is no such language; the message names the one spelled most like it.
    """
    tag = text.strip().replace("_", "-")
    name = tag.replace("-", " ").lower()
    if known := LANGUAGES.get(tag.lower()) or _BY_NAME.get(name) or _by_tag(tag) or _by_foreign_name(name):
        return known
    close = _BY_NAME.get(nearest(name, _BY_NAME) or "")
    advice = f"did you mean {close.code} ({close.name})?" if close else "use a code such as en, de, fr or zh-Hant;"
    raise UsageError(f"unknown language {text!r}; {advice} `livetrans languages` lists all")


def require_two_languages(spoken: str, shown: str) -> None:
    """Check that two languages differ. Each is a code or a name, the spoken one also `auto`.

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


def _by_foreign_name(name: str) -> Language | None:
    """Return the language that has this name, or one with few letters more or less, in any language of CLDR."""
    import langcodes

    # The table of names is a trie of bytes, which a null byte leads astray.
    if (len(name) <= _LONGEST_CODE and name.isascii()) or "\0" in name:
        return None
    try:
        return _by_tag(str(langcodes.find(name)))
    except (LookupError, UnicodeError):
        return None
