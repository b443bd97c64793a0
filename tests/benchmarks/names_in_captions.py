"""Names in captions: those of own sentences, of texts, and what a viewer reads of them.

Fifty names stand in six kinds of sentence, with German references. Half of the names, in half of the sentences, may
choose constants; the others are held out, and so are all texts but FLORES-200. The capitalised words that a text's
source and reference have in common are its names. Sentences grow by three words, as in a run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from livetrans.base.installation import data_folder
from livetrans.base.text import has_unspaced_script
from livetrans.config import LanguageModelSettings, PromptSettings, Settings, Term
from livetrans.events import Caption, Event, Transcript, Translation
from livetrans.lm.llama.model import LlamaModel
from livetrans.metrics.captions import ScreenErasure
from livetrans.metrics.quality import Score, chrf
from livetrans.names.sounds import common_words
from livetrans.run.translating import languages, open_lanes, prepare_prompt

SHARED = Path(os.environ.get("LIVETRANS_SHARED", Path(__file__).parents[3] / "shared"))
WORDS_AN_UPDATE = 3
PEOPLE = (
    "Marwood Quillon Tamsin Isolde Hargreave Zaleski Oyelaran Pemberly Ravindra Sorrentino Thackeray Ulrika Vanterpool "
    "Wojtek Yevgenia Adeyemi Brankovic Castellano Drummond Eskelinen Fairweather Guldbrand Hathaway Ingmar"
).split()
PLACES = (
    "Aberdare Bratislava Cuernavaca Dunmore Eskilstuna Fremantle Guanajuato Hokitika Inverary Jakobstad Kirkwall "
    "Ludlow Montauk"
).split()
THINGS = (
    "Airtable Bitbucket Codeberg Datadog Elasticsearch Figma Gitea Helmfile InfluxDB Jenkins Keycloak Linode Mattermost"
).split()
KANA = dict(
    zip(
        "Marwood Tamsin Zaleski Ravindra Ulrika Adeyemi Drummond Hathaway Thackeray Bratislava Fremantle Ludlow "
        "Montauk Hokitika Datadog Figma Jenkins Keycloak Linode".split(),
        "マーウッド タムシン ザレスキ ラヴィンドラ ウルリカ アデイェミ ドラモンド ハサウェイ サッカレー "
        "ブラチスラヴァ フリーマントル ラドロー モントーク ホキティカ データドッグ フィグマ "
        "ジェンキンス キークローク リノード".split(),
        strict=True,
    )
)
OF_PEOPLE = (
    (
        ("{} opened the window and looked outside.", "{} öffnete das Fenster und sah nach draußen."),
        ("I saw {} at the market this morning.", "Ich habe {} heute Morgen auf dem Markt gesehen."),
        ("We had dinner with {}.", "Wir haben mit {} zu Abend gegessen."),
        ("Is this {}'s umbrella?", "Ist das {}s Regenschirm?"),
        ("When does {} come home?", "Wann kommt {} nach Hause?"),
        ("My brother thinks that {} is very tired.", "Mein Bruder denkt, dass {} sehr müde ist."),
    ),
    (
        ("{} bought a new car last week.", "{} hat letzte Woche ein neues Auto gekauft."),
        ("They asked {} to sing another song.", "Sie baten {}, noch ein Lied zu singen."),
        ("She is waiting for {}.", "Sie wartet auf {}."),
        ("I have never read {}'s books.", "Ich habe {}s Bücher nie gelesen."),
        ("Why did {} leave so early?", "Warum ist {} so früh gegangen?"),
        ("If it rains, {} will stay at home.", "Wenn es regnet, wird {} zu Hause bleiben."),
    ),
)
OF_PLACES = (
    (
        ("{} is a small town near the sea.", "{} ist eine kleine Stadt am Meer."),
        ("He lived in {} for three years.", "Er lebte drei Jahre in {}."),
        ("Tomorrow we will drive to {}.", "Morgen werden wir nach {} fahren."),
        ("The streets of {} are very narrow.", "Die Straßen von {} sind sehr eng."),
        ("How far is it to {} from here?", "Wie weit ist es von hier nach {}?"),
        ("I would like to go to {}, but I have no time.", "Ich möchte nach {} fahren, aber ich habe keine Zeit."),
    ),
    (
        ("{} has a beautiful old bridge.", "{} hat eine schöne alte Brücke."),
        ("My aunt bought a house in {} last summer.", "Meine Tante hat letzten Sommer ein Haus in {} gekauft."),
        ("The train arrived in {}.", "Der Zug kam in {} an."),
        ("The people of {} love music.", "Die Menschen in {} lieben Musik."),
        ("Have you ever been to {}?", "Warst du schon einmal in {}?"),
        ("When I was a child, we often went to {}.", "Als ich ein Kind war, fuhren wir oft nach {}."),
    ),
)
OF_THINGS = (
    (
        ("{} does not work today.", "{} funktioniert heute nicht."),
        ("We use {} for our work every day.", "Wir benutzen {} jeden Tag für unsere Arbeit."),
        ("She showed me a picture of {}.", "Sie zeigte mir ein Bild von {}."),
        ("The new version of {} is better.", "Die neue Version von {} ist besser."),
        ("Who told you about {}?", "Wer hat dir von {} erzählt?"),
        ("I think that {} is too expensive.", "Ich denke, dass {} zu teuer ist."),
    ),
    (
        ("{} was a good idea.", "{} war eine gute Idee."),
        ("My boss wants to buy {} next year.", "Mein Chef will nächstes Jahr {} kaufen."),
        ("Everybody is talking about {}.", "Alle sprechen über {}."),
        ("The price of {} is too high.", "Der Preis von {} ist zu hoch."),
        ("Do you know how {} works?", "Weißt du, wie {} funktioniert?"),
        ("Because we had {}, the work was easy.", "Weil wir {} hatten, war die Arbeit leicht."),
    ),
)


TEXTS = {
    "FLORES-200": ("flores200.devtest.eng", "flores200.devtest.deu", 120),
    "NTREX-128": ("ntrex128.eng", "ntrex128.deu", 100),
    "newstest2020": ("newstest2020.en-deu.eng", "newstest2020.en-deu.deu", 100),
    "Tatoeba": ("tatoeba.test.eng", "tatoeba.test.deu", 200),
}
"""Source, reference, and the number of first sentences with names."""


@dataclass(frozen=True, slots=True)
class Sentence:
    source: str
    reference: str
    names: dict[str, str]
    """Each name of the source, with what captions should have for it."""


def own_sentences(half: int) -> list[Sentence]:
    """Return every second name in the six sentences of a half for its kind."""
    return [
        Sentence(source.format(name), reference.format(name), {name: name})
        for names, frames in ((PEOPLE, OF_PEOPLE), (PLACES, OF_PLACES), (THINGS, OF_THINGS))
        for name in names[half::2]
        for source, reference in frames[half]
    ]


def in_kana() -> list[Sentence]:
    """Return the sentences whose names have a spelling in Japanese, without references."""
    own = [*own_sentences(0), *own_sentences(1)]
    return [Sentence(one.source, "", {name: KANA[name]}) for one in own for name in one.names if name in KANA]


def of_text(name: str) -> list[Sentence]:
    """Return the first sentences of a text whose names its reference has too; in Tatoeba the names are common ones."""
    source, reference, count = TEXTS[name]
    files = (SHARED / "corpora" / source, SHARED / "corpora" / reference)
    found = []
    for said, written in zip(*(file.read_text("utf-8").splitlines() for file in files), strict=True):
        words = dict.fromkeys(re.findall(r"\b[A-Z][\w-]*[^\W\d_]{2}\b", said))
        shared = [one for one in words if one in re.findall(r"[\w-]+", written) and not one.isupper()]
        if name != "Tatoeba":
            shared = [one for one in shared if len(one) > 3 and one.casefold() not in common_words("en")]
        if shared and 3 <= len(said.split()) <= 40:
            found.append(Sentence(said, written, {one: one for one in shared}))
    return found[:count]


def occurrences(name: str, text: str) -> int:
    """Return how often a text has a name as it is; a single s may follow."""
    return text.count(name) if has_unspaced_script(name) else len(re.findall(_whole(name), text))


def _whole(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?:s|['’]s?)?(?!\w)"


@dataclass
class Read:
    """What a viewer reads of sentences."""

    sentences: Sequence[Sentence]
    finals: list[str] = field(default_factory=list)
    partials: list[tuple[Sentence, str]] = field(default_factory=list)
    screen: ScreenErasure = field(default_factory=ScreenErasure)
    updates: int = 0
    passes: int = 0

    def kept(self) -> tuple[int, int]:
        """Return how many occurrences of names the finals have, and the sources."""
        due = [
            (occurrences(name, one.source), occurrences(wanted, text))
            for one, text in zip(self.sentences, self.finals, strict=True)
            for name, wanted in one.names.items()
        ]
        return sum(map(min, due)), sum(said for said, _ in due)

    def inserted(self) -> int:
        """Return how many occurrences of names the finals have and the sources have not."""
        return sum(
            max(occurrences(wanted, text) - occurrences(name, one.source), 0)
            for one, text in zip(self.sentences, self.finals, strict=True)
            for name, wanted in one.names.items()
        )

    def half_written(self) -> int:
        """Return how many partials end with a name of which a part is missing."""
        return sum(any(_is_half(wanted, text) for wanted in one.names.values()) for one, text in self.partials)

    def rest(self) -> Score:
        """Return chrF without the names."""

        def masked(text: str, one: Sentence) -> str:
            return re.sub("|".join(map(_whole, one.names.values())), "", text)

        pairs = list(zip(self.finals, self.sentences, strict=True))
        return chrf([masked(text, one) for text, one in pairs], [masked(one.reference, one) for _, one in pairs])


def _is_half(name: str, text: str) -> bool:
    if has_unspaced_script(name):
        return any(text.endswith(name[:length]) for length in range((len(name) + 1) // 2, len(name)))
    last = re.split(r"\W", text)[-1]
    return len(last) >= 3 and last not in re.split(r"\W", name) and name.startswith(last)


def read(model: LlamaModel, settings: Settings, sentences: Sequence[Sentence], terms: Sequence[Term] = ()) -> Read:
    """Translate sentences that grow, as a run with these terms does."""
    settings = with_terms(settings, terms)
    [lane] = open_lanes(settings, model, prepare_prompt(model, settings, languages(settings)), None, lambda event: None)
    found = Read(sentences)
    for number, one in enumerate(sentences):
        words = one.source.split()
        for end in [*range(WORDS_AN_UPDATE, len(words), WORDS_AN_UPDATE), len(words)]:
            events: list[Event] = []
            said, is_final = " ".join(words[:end]), end == len(words)
            update = Transcript(number, end, said if is_final else "", "" if is_final else said, is_final, 0.0, 1.0)
            lane.translate(update, settings, events.append)
            found.updates += 1
            for event in events:
                if isinstance(event, Translation):
                    found.passes += event.stats.forward_passes
                if isinstance(event, Caption):
                    found.screen.add(event)
                    if is_final:
                        found.finals.append(event.text)
                    else:
                        found.partials.append((one, event.text))
    return found


def with_terms(settings: Settings, terms: Sequence[Term]) -> Settings:
    return Settings(
        targets=settings.targets, language_model=settings.language_model, prompt=PromptSettings(glossary=tuple(terms))
    )


def open_translator(target: str = "de") -> tuple[LlamaModel, Settings]:
    """Open the translator of the tree, or an instrument for another language."""
    own = data_folder("models") / "livetrans-en-de.q8_0.gguf"
    path = own if target == "de" else SHARED / "instruments" / f"en-{target}.plain.q8_0.gguf"
    settings = LanguageModelSettings(path, context_tokens=512, threads=1)
    return LlamaModel(settings), Settings(targets=(target,), language_model=settings)


def print_read(sentences: Sequence[Sentence], label: str, target: str = "de") -> None:
    """Print what is read without and with the names in the glossary."""
    model, settings = open_translator(target)
    terms = {name: Term(name, wanted) for one in sentences for name, wanted in one.names.items()}
    without, found = read(model, settings, sentences), read(model, settings, sentences, list(terms.values()))
    figures = []
    for one in (without, found):
        kept, said = one.kept()
        passes = one.passes / one.updates
        half = f"{one.half_written()} of {len(one.partials)}"
        figures.append(
            f"{kept} of {said} ({kept / said:.1%}), NE {one.screen.ratio:.4f}, {passes:.2f} passes an update, inserted "
            f"{one.inserted()}, half-written {half}"
        )
    print(f"  {label:24} without {figures[0]}\n  {'':24} with    {figures[1]}")
    if any(one.reference for one in sentences):
        rest, before = found.rest(), without.rest()
        value, low, high = rest.less(before)
        print(
            f"  {'':24} chrF of the rest {before.value:.1f} -> {rest.value:.1f}, {value:+.1f} [{low:+.1f}, {high:+.1f}]"
        )
    lengths = mean(len(one.source.split()) for one in sentences)
    print(f"  {'':24} {len(sentences)} sentences of {lengths:.1f} words")
    model.close()


def print_captions() -> None:
    """Print how many names of a glossary captions keep, of sources that have them right."""
    print("names kept in captions, without and with a glossary of them")
    print_read(own_sentences(0), "own, to choose on")
    print_read(own_sentences(1), "own, held out")
    for name in TEXTS:
        if (SHARED / "corpora" / TEXTS[name][0]).exists():
            print_read(of_text(name), f"{name}, {'to choose on' if name == 'FLORES-200' else 'held out'}")
    if (SHARED / "instruments" / "en-ja.plain.q8_0.gguf").exists():
        print_read(in_kana(), "own, into Japanese", "ja")
