"""Fifty names in six kinds of sentence, with German references, and names that source and reference of a text share.

Half of the names, in half of the sentences, may choose constants (`CHOSEN_ON`); the rest is held apart. The capitalised
words that a text's source and reference have in common are its glossary, without common words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from livetrans.config import Settings, Term, with_field
from livetrans.events import Caption, Event, Transcript, Translation
from livetrans.lm.llama.model import LlamaModel
from livetrans.metrics.captions import ScreenErasure
from livetrans.metrics.quality import chrf
from livetrans.names.sounds import common_words
from livetrans.run.translating import Lane, languages, open_lanes, prepare_prompt

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
_PEOPLE = (
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
_PLACES = (
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
_THINGS = (
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


@dataclass(frozen=True, slots=True)
class Sentence:
    source: str
    reference: str
    names: tuple[tuple[str, str, int], ...]
    """Each name of the source, what captions should have for it, and how often."""


def own_sentences(half: int) -> list[Sentence]:
    """Return every second name in the six sentences of a half for its kind."""
    kinds = ((PEOPLE, _PEOPLE), (PLACES, _PLACES), (THINGS, _THINGS))
    return [
        Sentence(source.format(name), reference.format(name), ((name, name, 1),))
        for names, frames in kinds
        for name in names[half::2]
        for source, reference in frames[half]
    ]


def of_text(source: Path, reference: Path, count: int) -> list[Sentence]:
    """Return the first sentences of a text that share names with their references."""
    lines = zip(source.read_text("utf-8").splitlines(), reference.read_text("utf-8").splitlines(), strict=True)
    found = []
    for said, written in lines:
        if not 3 <= len(said.split()) <= 40:
            continue
        shared = dict.fromkeys(
            one for one in re.findall(r"\b[A-Z][\w-]*[^\W\d_]{2}\b", said) if one in re.findall(r"[\w-]+", written)
        )
        names = [
            one for one in shared if one.casefold() not in common_words("en") and not one.isupper() and len(one) > 3
        ]
        if names:
            found.append(Sentence(said, written, tuple((one, one, occurrences(one, said)) for one in names)))
    return found[:count]


def occurrences(name: str, text: str) -> int:
    """Return how often a text has a name as it is: a single s may follow."""
    if not re.match(r"\w", name) or ord(name[0]) > 0x3000:
        return text.count(name)
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?:s|['’]s?)?(?!\w)", text))


@dataclass
class Captions:
    """What a viewer reads of a set of sentences."""

    partials: list[tuple[Sentence, str, str]]
    """Sentence, source so far, caption."""
    finals: list[str]
    erasure: ScreenErasure
    updates: int
    passes: int
    truncated: int
    sentences: Sequence[Sentence]

    def kept(self) -> tuple[int, int]:
        due = [
            (name, count, text)
            for one, text in zip(self.sentences, self.finals, strict=True)
            for _, name, count in one.names
        ]
        return sum(min(occurrences(name, text), count) for name, count, text in due), sum(count for _, count, _ in due)

    def kept_in_partials(self) -> tuple[int, int]:
        due = [
            (wanted, min(occurrences(name, said), 1), text)
            for one, said, text in self.partials
            for name, wanted, _ in one.names
        ]
        return sum(min(occurrences(name, text), count) for name, count, text in due), sum(count for _, count, _ in due)

    def excess(self) -> int:
        return sum(
            max(occurrences(name, text) - count, 0)
            for one, text in zip(self.sentences, self.finals, strict=True)
            for _, name, count in one.names
        )

    def half_written(self) -> list[str]:
        return [
            text for one, said, text in self.partials if any(_is_half(wanted, text) for name, wanted, _ in one.names)
        ]

    def rest(self):
        def masked(text: str, one: Sentence) -> str:
            for _, name, _ in sorted(one.names, key=lambda n: -len(n[1])):
                text = re.sub(rf"(?<!\w){re.escape(name)}(?:s|['’]s?)?(?!\w)", "", text)
            return text

        return chrf(
            [masked(text, one) for text, one in zip(self.finals, self.sentences, strict=True)],
            [masked(one.reference, one) for one in self.sentences],
        )

    def whole(self):
        return chrf(self.finals, [one.reference for one in self.sentences])


def _is_half(name: str, text: str) -> bool:
    if ord(name[0]) > 0x3000:
        return any(
            text.endswith(name[:n]) for n in range(len(name) - 1, max(1, (len(name)) // 2) - 1, -1)
        ) and not text.endswith(name)
    last = re.search(r"[\w-]+$", text)
    return (
        last is not None
        and len(last.group()) >= 3
        and name.startswith(last.group())
        and last.group() != name
        and last.group() not in name.split()
    )


def captions_of(
    model: LlamaModel, settings: Settings, sentences: Sequence[Sentence], terms: tuple[Term, ...], **change
) -> Captions:
    """Translate sentences that grow by three words as a run does."""
    settings = with_field(settings, "prompt.glossary", terms)
    prompt = prepare_prompt(model, settings, languages(settings))
    (lane,) = open_lanes(settings, model, prompt, None, lambda event: None)
    return run(lane, settings, sentences, **change)


def run(lane: Lane, settings: Settings, sentences: Sequence[Sentence], substitute=None, restore=None) -> Captions:
    result = Captions([], [], ScreenErasure(), 0, 0, 0, sentences)
    events: list[Event] = []
    for number, one in enumerate(sentences):
        words = one.source.split()
        ends = [*range(3, len(words), 3), len(words)]
        for revision, end in enumerate(ends):
            final, said = end == len(words), " ".join(words[:end])
            shown_source = substitute(number, said) if substitute else said
            events.clear()
            lane.translate(
                Transcript(
                    number, revision, "" if not final else shown_source, "" if final else shown_source, final, 0.0, 1.0
                ),
                settings,
                events.append,
            )
            result.updates += 1
            for event in events:
                if isinstance(event, Translation):
                    result.passes += event.stats.forward_passes
                    result.truncated += event.stats.truncated
                if isinstance(event, Caption):
                    if restore:
                        event = replace(event, text=restore(number, event.text))
                    result.erasure.add(event)
                    if final:
                        result.finals.append(event.text)
                    else:
                        result.partials.append((one, said, event.text))
    return result
