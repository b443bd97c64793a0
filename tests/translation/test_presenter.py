"""mask-k: what is shown of what the model wrote."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livetrans.base.text import cluster_start
from livetrans.events import Caption, DecodingStats, Transcript, Translation
from livetrans.lm.prompts import text_of_bytes
from livetrans.translation.presenter import Presenter, cut_to_word

_pieces = st.lists(st.sampled_from([" Haus", " der", "mann", "s", ".", " ein", "er", ",", " Ü", "ber"]), max_size=12)


def _text_of(vocabulary: list[str]):  # type: ignore[no-untyped-def]
    def text_of(tokens: Sequence[int]) -> str:
        return text_of_bytes("".join(vocabulary[token] for token in tokens).encode())

    return text_of


def _caption(pieces: list[str], k: int, *, language="de"):  # type: ignore[no-untyped-def]
    text_of = _text_of(pieces)
    tokens = tuple(pieces.index(piece) for piece in pieces)
    transcript = Transcript(0, 0, "source", "", False, 0.0, 1.0)
    hidden = min(k, len(tokens))
    translation = Translation(
        transcript, text_of(tokens), tokens, DecodingStats(), language=language, hidden_tokens=hidden
    )
    return Presenter(text_of).present(translation), translation


@given(_pieces, st.integers(0, 5))
def test_a_caption_hides_the_hidden_tokens_and_shows_whole_words(pieces: list[str], k: int) -> None:
    caption, translation = _caption(pieces, k)
    assert translation.text.startswith(caption.text)
    assert caption.masked_tokens >= min(k, len(pieces))
    assert len(caption.tokens) + caption.masked_tokens == len(pieces)
    if k and caption.text:
        rest = translation.text[len(caption.text) :]
        assert not (rest and rest[0].isalnum() and caption.text[-1].isalnum())


@given(_pieces)
def test_without_hidden_tokens_everything_is_shown(pieces: list[str]) -> None:
    caption, translation = _caption(pieces, 0)
    assert (caption.text, caption.masked_tokens) == (translation.text, 0)


_thai = st.lists(st.sampled_from(["น", "้", "ำ", "ใจ", "ขึ", "้น", "ก", "์", " ", "Anna", "รุ"]), max_size=12, unique=True)


@given(_thai, st.integers(0, 5))
def test_a_caption_without_spaces_is_cut_between_grapheme_clusters(pieces: list[str], k: int) -> None:
    caption, translation = _caption(pieces, k, language="ja")
    assert translation.text.startswith(caption.text)
    assert caption.masked_tokens >= min(k, len(pieces))
    assert cluster_start(translation.text, len(caption.text)) == len(caption.text)


def test_the_language_of_a_translation_decides_how_its_caption_is_cut() -> None:
    pieces = ["私は", "犬が", "好き"]
    text_of = _text_of(pieces)
    update = Transcript(0, 0, "source", "", False, 0.0, 1.0)
    translation = Translation(update, text_of((0, 1, 2)), (0, 1, 2), DecodingStats(), language="ja", hidden_tokens=1)
    caption = Presenter(text_of).present(translation)
    assert (caption.text, caption.language) == ("私は犬が", "ja")


@given(_pieces, st.integers(0, 4))
def test_shown_tokens_are_wholly_in_the_text(pieces: list[str], k: int) -> None:
    caption, _ = _caption(pieces, k)
    assert len(_text_of(pieces)(caption.tokens)) <= len(caption.text)


def test_punctuation_between_words_comes_with_the_word_before_it() -> None:
    pieces = ["Weißt", " du", ",", " wo", " er", " ist", "?"]
    assert [_caption(pieces[:count], 3)[0].text for count in (4, 5, 6, 7)] == [
        "Weißt",
        "Weißt du,",
        "Weißt du,",
        "Weißt du, wo",
    ]
    # A full stop at the end of half a sentence is a guess.
    assert _caption([" Das", " Haus", "."], 1)[0].text == "Das Haus"
    assert _caption(["駅", "、", "本", "を"], 3, language="ja")[0].text == "駅、"


def test_cut_to_word_keeps_a_word_that_only_loses_its_punctuation() -> None:
    assert cut_to_word("Das Haus", "Das Haus.") == "Das Haus"
    assert cut_to_word("Das Haus", "Das Hausboot.") == "Das"
    assert cut_to_word("Haus", "Hausboot") == ""


def test_cut_to_word_knows_marks_and_numbers() -> None:
    assert cut_to_word("यह हिन", "यह हिन्दी") == "यह"
    assert cut_to_word("Das Mu", "Das Mu\u0308ll") == "Das"
    assert cut_to_word("nur 3", "nur 3.5 Liter") == "nur"
    assert cut_to_word("nur 3", "nur 3. Dann") == "nur 3"
    assert cut_to_word("nur 3.", "nur 3.5 Liter") == "nur"
    assert cut_to_word("fast 1,", "fast 1,000 Liter") == "fast"
    assert cut_to_word("also z.", "also z.B. so") == "also"
    assert cut_to_word("यह हिन", "यह हिने") == "यह"


def test_a_loop_is_shown_once() -> None:
    pieces = [" Er", " sagt", *[" ja"] * 8]
    for k in (3, 0):
        caption, translation = _caption(pieces, k)
        assert caption.text == "Er sagt ja"
        assert translation.text.count("ja") == 8


def _grow(*outputs: str, final: bool = False, language: str = "de") -> Caption:
    """The last caption of a segment whose outputs are these, unmasked; the last is a final or not."""
    vocabulary: list[str] = []
    presenter = Presenter(_text_of(vocabulary))
    for revision, output in enumerate(outputs):
        vocabulary[:] = [output]
        is_final = final and revision == len(outputs) - 1
        update = Transcript(0, revision, "source", "", is_final, 0.0, 1.0)
        caption = presenter.present(Translation(update, output, (0,), DecodingStats(), language=language))
    return caption


@pytest.mark.parametrize(
    ("shown", "written", "text"),
    [
        ("Es regnet. Wir gehen", "Es regnet, wir gehen heim", "Es regnet. Wir gehen heim"),
        ("Das Haus Boot hier", "Das Hausboot hier ist", "Das Haus Boot hier ist"),
        ("Es regnet. Wir", "Es regnet, weil", "Es regnet, weil"),
        ("Das Haus.", "Das Haus, das", "Das Haus, das"),
        ("nur 3.5 Liter Öl", "nur 35 Liter Öl", "nur 35 Liter Öl"),
        ("eins zwei drei", "eins", "eins"),
        ("", "Neu", "Neu"),
    ],
)
def test_a_shown_word_keeps_its_form_in_the_middle_of_a_line(shown: str, written: str, text: str) -> None:
    grown = _grow(shown, written)
    assert grown.text == text


def test_a_final_shows_what_the_model_wrote() -> None:
    assert _grow("Es regnet. Wir gehen", "Es regnet, wir gehen heim.", final=True).text == "Es regnet, wir gehen heim."


def test_scripts_without_spaces_keep_their_punctuation_too() -> None:
    assert _grow("研究。中的", "研究、中的差距", language="zh").text == "研究。中的差距"


@given(st.lists(st.text(st.sampled_from("aA1., "), max_size=12).map(lambda text: " ".join(text.split())), min_size=1))
def test_kept_forms_change_no_letter(outputs: list[str]) -> None:
    def letters(text: str) -> str:
        return "".join(filter(str.isalnum, text)).casefold()

    caption = _grow(*outputs)
    assert letters(caption.text) == letters(outputs[-1])
