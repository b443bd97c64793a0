"""The translating side of a run: the loaded translator, its prompt and its presenter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from livetrans.config import Settings
from livetrans.errors import ContextError
from livetrans.events import Caption, Notice, Transcript
from livetrans.languages import are_same, parse_language
from livetrans.run.publisher import Publish
from livetrans.run.speedup import ShownUpdate, SpeedupSampler
from livetrans.signature import Setting
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator


@dataclass(frozen=True, slots=True)
class Translating:
    """The translating side, ready to run."""

    translator: Translator
    presenter: Presenter
    signature: dict[str, Setting]
    close: Callable[[], None]
    sampler: SpeedupSampler | None = None
    """What measures the speedup of a live run; None where it is not measured."""

    def follow(self, settings: Settings) -> None:
        """Take the settings that hold now: decoding and mask at once, the language from the next segment on."""
        self.translator.settings = settings.decoding
        self.translator.mask = self.presenter.mask = settings.mask
        self.translator.aim_at(parse_language(settings.target_language))

    def translate(self, transcript: Transcript, settings: Settings, publish: Publish) -> None:
        """Translate and present one update, or show it as it was heard.

        That is so where the captions' language is spoken, and for a final that does not fit in the model's context.
        What a split left to a new segment is shown until the model has translated it there.
        """
        self.follow(settings)
        carried = self.translator.carried(transcript)
        spoken, shown = transcript.language or settings.source_language, self.translator.language
        if shown and are_same(spoken, shown):
            publish(Caption(transcript, transcript.text, untranslated=True, language=shown))
            return
        captions: list[Caption] = []
        if carried:
            captions.append(self.presenter.present(carried))
            publish(captions[0])
        try:
            translation = self.translator.translate(transcript)
        except ContextError as error:
            if transcript.final:
                publish(Notice("warning", f"Shown untranslated: {error}."))
                publish(Caption(transcript, transcript.text, untranslated=True))
            return
        publish(translation)
        captions.append(self.presenter.present(translation))
        publish(captions[-1])
        if self.sampler:
            prompt, decoding, mask = self.translator.prompt, settings.decoding, settings.mask
            self.sampler.add(ShownUpdate(transcript, prompt, decoding, mask, tuple(captions)))
