"""Languages by code and by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.errors import UsageError
from livetrans.base.languages import LANGUAGES, parse_language
from livetrans.cli import run


def test_every_language_is_found_by_its_code_and_its_name() -> None:
    for language in LANGUAGES.values():
        assert parse_language(language.code) == parse_language(language.code.upper()) == language
        assert parse_language(language.name).name == language.name


SPELLINGS = [
    ("german", "de"), (" Mandarin ", "zh"), ("pt_br", "pt-BR"), ("en-GB", "en"), ("de-AT", "de"),
    ("zh-tw", "zh-Hant"), ("zh_Hant_HK", "zh-Hant"), ("zh-CN", "zh-Hans"), ("iw", "he"), ("fil", "tl"),
    ("jv", "jw"), ("nb-NO", "no"), ("es-419", "es"), ("sr-Latn-RS", "sr"), ("brazilian_portuguese", "pt-BR"),
    ("Traditional-Chinese", "zh-Hant"), ("haitian creole", "ht"), ("nb", "no"), ("Farsi", "fa"), ("Flemish", "nl"),
    ("Moldavian", "ro"), ("Filipino", "tl"), ("Deutsch", "de"), ("français", "fr"), ("ESPAÑOL", "es"),
    ("português do Brasil", "pt"), ("Ukranian", "uk"), ("русский язык", "ru"),
    ("norsk bokmål", "no"), ("bahasa indonesia", "id"), ("Jawa", "jw"), ("中文", "zh"), ("繁體中文", "zh-Hant"),
    ("العربية", "ar"), ("हिन्दी", "hi"), ("Allemand", "de"), ("汉语", "zh"), ("国语", "zh"), ("普通話", "zh"),
    ("廣東話", "yue"), ("Castellano", "es"), ("deu", "de"), ("ger", "de"), ("eng", "en"), ("lao", "lo"),
    ("zh-yue", "yue"), ("cmn", "zh"), ("mo", "ro"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "code"), SPELLINGS)
def test_other_spellings(wanted: str, code: str) -> None:
    assert parse_language(wanted).code == code


def test_what_translators_and_whisper_call_it() -> None:
    chinese = parse_language("zh-TW")
    assert (chinese.name, chinese.whisper_code) == ("Traditional Chinese", "zh")
    assert parse_language("ga").whisper_code is None


def test_scripts_without_spaces() -> None:
    for code in ("zh", "zh-TW", "ja", "th", "lo", "km", "my", "yue"):
        assert not parse_language(code).spaced
    for code in ("de", "ko", "vi", "ar", "pt-BR"):
        assert parse_language(code).spaced


def test_an_unknown_language_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"did you mean de \(German\)\? `livetrans languages` lists all"):
        parse_language("geerman")


@pytest.mark.parametrize("wanted", ["tae", "rao", "ris"])
def test_a_short_foreign_name_is_no_code(wanted: str) -> None:
    with pytest.raises(UsageError, match="unknown language"):
        parse_language(wanted)


def test_what_is_like_no_name_gets_the_form_of_a_code() -> None:
    for unlike in ("en-klingon", "poo", "Klingon", "en de", "*", "", "\0", "\ud800"):
        with pytest.raises(UsageError, match=r"use a code .* `livetrans languages` lists all"):
            parse_language(unlike)


def test_the_list_of_languages_has_them_all_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["languages"]) == 0
    printed = capsys.readouterr().out
    assert all(f"{language.code} " in printed and language.name in printed for language in LANGUAGES.values())
    assert max(map(len, printed.splitlines())) <= 80
    spoken, _, captions_only = printed.partition("For --to only")
    assert "Irish" in captions_only and "German" in spoken and "German" not in captions_only
    assert run(["languages", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["languages"]
    assert {entry["code"]: entry["spoken"] for entry in listed} == {
        language.code: language.whisper_code is not None for language in LANGUAGES.values()
    }


@given(st.text())
def test_any_text_is_a_language_or_a_usage_error(wanted: str) -> None:
    try:
        assert parse_language(wanted) in LANGUAGES.values()
    except UsageError:
        pass
