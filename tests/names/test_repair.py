"""What is repaired, by properties of every text: idempotence, growth, order, and the sound of a repaired word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livetrans.config import MeetingSettings, PromptSettings, Settings, Term
from livetrans.events import Transcript
from livetrans.names.repair import NameRepairs, SpellingRepairer, tokens_of

words = st.lists(st.sampled_from(["a", "b", "c", "A", "b's", "c,", "橋", "a-b"]), min_size=1, max_size=4)
phrases = words.map(" ".join)
glossaries = st.lists(
    st.builds(
        Term,
        phrases.filter(lambda text: any(map(str.isalnum, text))),
        st.just(""),
        st.lists(st.tuples(phrases, st.sampled_from(["", "en", "de"])), max_size=3).map(tuple),
    ),
    max_size=4,
).map(tuple)
texts = st.lists(st.sampled_from(["a", "b", "c", "d", "A", "b's", "c,", "d.", "橋", "a-b"]), max_size=9).map(" ".join)

NAMES = (
    Term("OpenRouter", "OpenRouter", (("open router", ""), ("open vrouter", ""))),
    Term("OpenRouter Pro", "", (("open router pro", ""),)),
    Term("Siobhan", "", (("shiv on", ""), ("Schiffon", "de"))),
    Term("新橋", "", (("心橋", ""),)),
)


class Drawn:
    """Chosen values in place of what hypothesis draws."""

    def __init__(self, values: list[int]) -> None:
        self._values = iter(values)

    def draw(self, strategy: object) -> int:
        return next(self._values)


def update(committed: str, partial: str = "", *, final: bool = False) -> Transcript:
    return Transcript(0, 0, committed, "" if final else partial, final, 0.0, 1.0)


@pytest.mark.parametrize(
    ("heard", "written"),
    [
        ("We use open router, and Shiv on's too.", "We use OpenRouter, and Siobhan's too."),
        ("open-router or Open  VRouter", "OpenRouter or OpenRouter"),
        ("open router pro", "OpenRouter Pro"),
        ("open. Router, reopen router, open routers", "open. Router, reopen router, open routers"),
        ("Schiffon", "Schiffon"),
        ("在心橋站", "在新橋站"),
        ("the last is open router", "the last is OpenRouter"),
    ],
)
def test_whole_words_are_repaired_the_longest_first(heard: str, written: str) -> None:
    text, repairs = SpellingRepairer(NAMES, "en").repair(heard)
    assert text == written
    back = list(text)
    for repair in reversed(repairs):
        back[repair.begin : repair.end] = repair.heard
    assert "".join(back) == heard, "the repairs say what was heard, and where"


def test_a_spelling_can_be_for_one_spoken_language() -> None:
    assert SpellingRepairer(NAMES, "de").repair("Schiffon kommt")[0] == "Siobhan kommt"
    assert SpellingRepairer(NAMES, None).repair("Schiffon kommt")[0] == "Schiffon kommt"


@given(glossaries, texts)
@example((Term("'", "", (("a", ""),)), Term("b", "", (("s", ""),))), "a's")
@example((Term("x y", "", (("z", ""),)), Term("b", "", (("w x", ""),))), "w z")
@example((Term("Acme Inc.", "", (("acme", ""),)),), "acme's")
def test_a_second_repair_changes_nothing(terms: tuple[Term, ...], text: str) -> None:
    repairer = SpellingRepairer(terms, "en")
    once, repairs = repairer.repair(text)
    assert repairer.repair(once) == (once, ())
    assert repairer.repair(once, repairs) == (once, repairs)


@given(glossaries, texts, st.randoms())
def test_the_order_of_the_entries_does_not_matter(terms: tuple[Term, ...], text: str, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(terms)
    random.shuffle(shuffled)
    assert SpellingRepairer(terms, "en").repair(text) == SpellingRepairer(shuffled, "en").repair(text)


@given(glossaries, st.lists(st.sampled_from(["a", "b", "c", "d", "b's", "c,"]), min_size=1, max_size=9), st.data())
@example((Term("a", "", (("b b", ""),)),), ["b", "b", "a"], Drawn([0, 0, 0]))
@example((Term("b c", "", (("a b", ""),)),), ["a", "b", "c"], Drawn([0, 0, 2]))
@example((Term("b a", "", (("a", ""), ("a b", ""))),), ["a", "b", "a"], Drawn([0, 0, 0]))
@example((Term("橋", "", (("b", ""),)),), ["b", "b", "a"], Drawn([0, 1, 1]))
def test_a_growing_text_is_a_prefix_of_the_final_up_to_the_words_that_are_held(
    terms: tuple[Term, ...], spoken: list[str], data: st.DataObject
) -> None:
    repairer = SpellingRepairer(terms, "en")
    final = repairer.repaired(update(" ".join(spoken), final=True))
    spellings = [term.text for term in terms] + [spelling for term in terms for spelling, _ in term.heard]
    # The last word, words that may begin a term, and words before them that stand for one unless they are part of that.
    held = 1 + 2 * (max(len(tokens_of(spelling)) for spelling in [*spellings, "a"]) - 1)
    agreed, committed = 0, ""
    for count in range(1, len(spoken) + 1):
        agreed = data.draw(st.integers(agreed, count))
        grown = repairer.repaired(update(" ".join(spoken[:agreed]), " ".join(spoken[agreed:count])))
        assert grown.committed.startswith(committed), "what was committed does not change"
        assert final.text.startswith(grown.committed)
        assert agreed == count or grown.text.endswith(spoken[count - 1]), "the last word stays as it was heard"
        assert final.text.startswith(" ".join(grown.text.split()[: max(len(grown.text.split()) - held, 0)]))
        committed = grown.committed
    whole = replace(update("", " ".join(spoken)), ended=True)
    assert repairer.repaired(whole).text == final.text, "a sentence that has ended is repaired like its final"


spoken_words = st.sampled_from(
    "we use cuborn eats with deal feen and Delphine's friend in post girs or Postgres, deal. feen now".split()
)
SOUNDING = tuple(map(Term, ("Kubernetes", "Delphine", "Postgres", "OpenRouter")))


def test_what_sounds_like_a_term_is_repaired_and_a_common_word_is_not() -> None:
    repairer = SpellingRepairer(SOUNDING, "en", sounds=True)
    heard = "Deal feen's cuborn eats, post girs and an open routher; the open route and posters."
    assert repairer.repair(heard)[0] == (
        "Delphine's Kubernetes, Postgres and an OpenRouter; the open route and posters."
    )
    assert repairer.repair("deal. Feen and post-haste girls")[1] == ()
    assert repairer.repair("Vinela a cuborn eats a thing")[0] == "Vinela a Kubernetes a thing", "no word too many"
    assert SpellingRepairer((Term("Vineela", ""),), "en", sounds=True).repair("vineoler a")[0] == "Vineela a"
    for language in (None, "de"):
        assert SpellingRepairer(SOUNDING, language, sounds=True).repair(heard)[1] == (), (
            "there is no rule for the language"
        )


@given(st.lists(spoken_words, min_size=1, max_size=9), st.data())
@example(["we", "deal.", "we", "feen"], Drawn([0, 1, 2, 3]))
def test_sounding_alike_keeps_what_was_committed_and_a_second_repair_changes_nothing(
    spoken: list[str], data: st.DataObject
) -> None:
    repairer = SpellingRepairer(SOUNDING, "en", sounds=True)
    final = repairer.repaired(update(" ".join(spoken), final=True)).text
    assert repairer.repair(final)[1] == ()
    assert SpellingRepairer(SOUNDING[::-1], "en", sounds=True).repair(" ".join(spoken))[0] == final
    agreed, committed = 0, ""
    for count in range(1, len(spoken) + 1):
        agreed = data.draw(st.integers(agreed, count))
        grown = repairer.repaired(update(" ".join(spoken[:agreed]), " ".join(spoken[agreed:count])))
        assert grown.committed.startswith(committed) and final.startswith(grown.committed)
        committed = grown.committed


@given(texts, texts)
def test_an_update_keeps_its_times_and_its_parts_join_to_its_text(left: str, right: str) -> None:
    before = replace(update(left, right), start=0.5, end=2.5)
    after = SpellingRepairer(NAMES, "en").repaired(before)
    assert (after.start, after.end, after.segment_id, after.revision) == (0.5, 2.5, 0, 0)
    assert after.text == after.text.strip()


def test_a_run_repairs_by_the_settings_that_hold_and_the_language_that_is_spoken() -> None:
    settings = Settings(prompt=PromptSettings(glossary=NAMES), meeting=MeetingSettings(spoken="de"))
    repairs = NameRepairs(lambda: settings)
    heard = replace(update("shiv on and Schiffon", final=True), track="them")
    assert repairs(heard).text == "Siobhan and Schiffon"
    assert repairs(replace(heard, track="me")).text == "Siobhan and Siobhan"
    assert repairs(replace(heard, language="de")).text == "Siobhan and Siobhan"
    assert repairs.of_track("them").respelled("with shiv on", "en") == "with Siobhan"
    settings = replace(settings, prompt=PromptSettings(glossary=NAMES, repair="none"))
    assert repairs(heard) is heard
    settings = replace(settings, prompt=PromptSettings(glossary=(Term("Schiffbau", "", (("shiv on", ""),)),)))
    assert repairs(heard).text == "Schiffbau and Schiffon"


def test_committed_words_do_not_change_when_the_glossary_is_saved_and_do_when_the_reader_corrects_them() -> None:
    settings = Settings(prompt=PromptSettings(glossary=(Term("Berlin"),)))
    repairs = NameRepairs(lambda: settings)
    assert repairs(update("we met Kwesi in the", "office")).committed == "we met Kwesi in the"
    saved = (Term("Kwasi", "", (("kwesi", ""),)), Term("In The Office"), Term("Metro", "", (("the office", ""),)))
    settings = replace(settings, prompt=PromptSettings(glossary=saved))
    assert repairs(update("we met Kwesi in the office", "with Kwesi today")).text == (
        "we met Kwesi in the office with Kwasi today"
    )
    repairs.correct()
    assert repairs(update("we met Kwesi in the office with Kwesi", "today")).committed.count("Kwasi") == 2
    settings = replace(settings, prompt=PromptSettings(glossary=()))
    assert repairs(update("we met Kwesi in the office with Kwesi today", final=True)).text.count("Kwasi") == 2


WAITED_FOR = {
    "Siobhan": "shivon", "Katarzyna": "katashina", "Wojciech": "voitek", "Zeynep": "zainap", "Okonkwo": "oconquo",
    "Kubernetes": "cuba nettis", "Frigade": "frigate", "Wiebke": "vibka", "Xaver": "zava", "Ulrike": "all rica",
    "Terraform": "terra form", "Grafana": "gra fauna",
}  # fmt: skip
OTHERS = "Marlene Thorsten Annika Corinna Jolanta Ingmar Ansible Nextcloud Cassandra Prometheus Leonie Tatjana".split()


@pytest.mark.parametrize("sounds", [False, True])
def test_few_words_of_ordinary_speech_wait_for_a_name(sounds: bool) -> None:
    terms = [Term(name, "", ((heard, ""),)) for name, heard in WAITED_FOR.items()] + [Term(name) for name in OTHERS]
    repairer = SpellingRepairer(terms, "en", sounds=sounds)
    words = (Path(__file__).parents[2] / "recordings" / "talk.txt").read_text("utf-8").split()
    waits = []
    for place in range(1, len(words) - 1):
        heard = update(" ".join(words[max(place - 8, 0) : place]), " ".join(words[place : place + 2]))
        waits.append(repairer.repaired(heard, {}).committed != heard.committed)
    assert len(waits) > 150 and sum(waits) <= 0.1 * len(waits)
    spelled = repairer.repaired(update("we saw gra", "fauna and"), {})
    assert (spelled.committed, spelled.text) == ("we saw", "we saw Grafana and")
    assert repairer.repaired(update("we saw all", "ri"), {}).committed == "we saw"
