"""The recipes of the embedded models: their commands exist, and what both share stands in one place."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

RECIPES = Path(__file__).parents[1] / "models/recipes"
DOCUMENTS = sorted(RECIPES.glob("*/*.md"))


@pytest.fixture(autouse=True)
def from_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the documents say: from the top of the checkout."""
    monkeypatch.syspath_prepend(str(RECIPES.parents[1]))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_documented_command_is_a_module_of_the_recipes(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert "python models/recipes/" not in text
    commands = re.findall(r"python -m (models\.recipes\.[\w.]+)", text)
    assert commands
    for command in commands:
        assert importlib.util.find_spec(command) is not None, command


@pytest.mark.parametrize(
    ("written", "spoken"),
    [("7 of 1,250 in 1984", "seven of one thousand two hundred fifty in nineteen eighty four"), ("3.5 km", "3.5 km")],
)
def test_both_recipes_write_numbers_alike(written: str, spoken: str) -> None:
    from models.recipes.common.corpus import spell_numbers

    assert spell_numbers(written) == spoken


@pytest.mark.parametrize(
    ("name", "source", "target", "sound"),
    [
        ("en-de", "Where is it?", "Wo ist es?", True),
        ("en-ja", "Where did you buy that book?", "その本をどこで買ったの？", True),
        ("en-ja", "Where did you buy that book?", "その本をどこで買ったの", False),
        ("en-ja", "Where did you buy that beautiful old book?", "何？", False),
    ],
)
def test_pairs_are_sound_by_their_own_marks_and_lengths(name: str, source: str, target: str, sound: bool) -> None:
    from models.recipes.common.corpus import PAIRS, is_sound

    assert is_sound(source, target, PAIRS[name].shortest) == sound


@given(st.integers(0, 99))
def test_a_target_without_spaces_is_cut_between_characters(seed: int) -> None:
    from models.recipes.common.corpus import PAIRS
    from models.recipes.translator.text import cut_pair

    whole = "その本をどこで買ったの"
    source, target = cut_pair("Where did you buy that book?", whole + "？", random.Random(seed), PAIRS["en-ja"])
    kept = len(source.split())
    assert 1 <= kept < 6 and target == whole[: max(1, kept * (len(whole) + 1) // 6)]


@given(st.lists(st.integers(10, 99)))
def test_a_target_in_double_token_order_is_whole(target: list[int]) -> None:
    from models.recipes.translator.pairs import Tails, in_pairs

    begin, end, vocabulary = 1, 2, 100
    tails = Tails([begin, end, *range(10, 100)], vocabulary)
    order = in_pairs(target, begin, end, tails)
    heads, back = order[0::2], [tails.pieces[token - vocabulary] for token in order[1::2]]
    assert (heads[0], back[0]) == (begin, begin)
    assert end in (heads[-1], back[-1])
    assert end not in (*heads[:-1], *back[:-1])
    written = [*heads[1:], *reversed(back[1:])]
    assert [piece for piece in written if piece != end] == target


def test_a_target_without_the_tail_pieces_it_needs_is_left_out() -> None:
    from models.recipes.translator.pairs import Tails, in_pairs

    tails = Tails([1, 2, 10, 11], 100)
    assert in_pairs([12, 10], 1, 2, tails)
    assert not in_pairs([10, 12], 1, 2, tails)


def test_the_grown_model_writes_the_small_ones_text_token_for_token(translator_path: Path, tmp_path: Path) -> None:
    from models.recipes.translator.grow import Shape, check, grow

    grown = tmp_path / "grown.gguf"
    grow(translator_path, grown, Shape(width=512, layers=5, feed_forward=1024, queries=1024, keys=512))
    assert grown.stat().st_size > 2 * translator_path.stat().st_size
    assert check(translator_path, grown, ["Where did you buy that book?", "Surgeons in Łódź are on strike since"], 1)


def test_a_card_says_which_file_it_is_of_and_what_it_scores(tmp_path: Path) -> None:
    from models.recipes.translator.evaluate import card

    model = tmp_path / "small.gguf"
    model.write_bytes(b"GGUF")
    keys = ("name", "description", "license", "author")
    text = card(model, {f"general.{key}": f"its {key}" for key in keys}, [{"set": "talk", "chrf": 51.5}], [])
    assert all(f"its {key}" in text for key in keys)
    assert hashlib.sha256(b"GGUF").hexdigest() in text
    assert "| talk | 51.5 |" in text


@pytest.mark.parametrize(
    "shape", [{"width": 300}, *(pytest.param({name: size}, marks=pytest.mark.long)
                                for name, size in (("layers", 2), ("keys", 768), ("feed_forward", 64)))]
)  # fmt: skip
def test_a_shape_that_the_small_model_does_not_fit_is_refused(
    shape: dict[str, int], translator_path: Path, tmp_path: Path
) -> None:
    from models.recipes.translator.grow import Shape, grow

    with pytest.raises(ValueError, match="the model's"):
        grow(translator_path, tmp_path / "grown.gguf", Shape(**shape))
    assert not (tmp_path / "grown.gguf").exists()
