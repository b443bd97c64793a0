"""No two runs of a table or plot have one name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from livetrans.bench.labels import tell_apart

PARTS = st.tuples(*[st.sampled_from("ab")] * 3)


@given(st.lists(PARTS, min_size=1, max_size=6), st.data())
def test_every_origin_has_a_name_of_its_own(parts: list[tuple[str, ...]], data: st.DataObject) -> None:
    origins = [(*each, f"file {number % 2}", f"path {number}") for number, each in enumerate(parts)]
    names = tell_apart(origins)
    assert len(set(names.values())) == len(origins) == len(names)
    assert all(name for name in names.values()) == (len(origins) > 1)


def test_a_name_has_the_one_part_that_suffices() -> None:
    def names(*origins: tuple[str, ...]) -> list[str]:
        return list(
            tell_apart(
                (*origin, f"{number}.jsonl", f"{number}.jsonl") for number, origin in enumerate(origins)
            ).values()
        )

    assert names(("en-de", "tower"), ("en-de", "qwen")) == ["tower", "qwen"]
    assert names(("en-de", "tower"), ("en-de", "qwen"), ("en-ja", "tower")) == [
        "en-de tower",
        "en-de qwen",
        "en-ja tower",
    ]
    assert names(("en-de", "tower"), ("en-de", "tower")) == ["0.jsonl", "1.jsonl"]
    assert names(("en-de", "tower")) == [""]
