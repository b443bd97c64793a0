"""The translating side of a run: a lane for each language of the captions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from livetrans.config import Settings
from livetrans.errors import ContextError
from livetrans.events import Caption, Notice, Transcript
from livetrans.languages import are_same
from livetrans.run.publisher import Publish
from livetrans.run.speedup import ShownUpdate, SpeedupSampler
from livetrans.signature import Setting
from livetrans.translation.presenter import Presenter
from livetrans.translation.translator import Translator


@dataclass(frozen=True, slots=True)
class Lane:
    """What translates updates into one language: a translator with a context and prompts of its own, and a presenter.

    So the captions of a lane are those of a run into its language alone.
    """

    translator: Translator | None
    """None where all speech is in the lane's language."""
    presenter: Presenter
    language: str | None = None
    """Code; None for a translator that knows one language only."""
    track: str | None = None
    """Name of the track whose updates it translates; None in a run of one."""

    def translate(self, transcript: Transcript, settings: Settings, publish: Publish) -> ShownUpdate | None:
        """Translate and present one update, or show it as it was heard; return what was translated.

        It is shown as it was heard where the captions' language is spoken, and a final also where it does not fit in
        the model's context.
        """
        translator, decoding, mask = self.translator, settings.decoding, settings.mask
        if translator is None:
            publish(self._as_heard(transcript))
            return None
        translator.settings, translator.mask, self.presenter.mask = decoding, mask, mask
        if self.language and are_same(transcript.language or settings.source_language, self.language):
            publish(self._as_heard(transcript))
            return None
        try:
            translation = translator.translate(transcript)
        except ContextError as error:
            if transcript.final:
                publish(Notice("warning", f"Shown untranslated: {error}."))
                publish(self._as_heard(transcript))
            return None
        publish(translation)
        caption = self.presenter.present(translation)
        publish(caption)
        return ShownUpdate(transcript, translator.prompt, decoding, mask, caption)

    def _as_heard(self, transcript: Transcript) -> Caption:
        return Caption(transcript, transcript.text, untranslated=True, language=self.language)


@dataclass(frozen=True, slots=True)
class Translating:
    """The translating side, ready to run."""

    lanes: Sequence[Lane]
    signature: dict[str, Setting]
    close: Callable[[], None]
    sampler: SpeedupSampler | None = None
    """What measures the speedup of a live run; None where it is not measured."""

    def translate(
        self,
        transcript: Transcript,
        settings: Settings,
        publish: Publish,
        *,
        read: Collection[str] = (),
        has_time: Callable[[], bool] = lambda: True,
    ) -> None:
        """Translate and present one update in every lane of its track: first into the language shown, then into those
        that are `read`. A partial comes into the others only if `has_time` says so before each.
        """
        is_mine = settings.is_mine(transcript.track)
        settings = settings.of_me if is_mine else settings
        shown = settings.target_language
        wanted = {None, shown, *read}
        lanes = (lane for lane in self.lanes if lane.track == transcript.track)
        for lane in sorted(lanes, key=lambda lane: (lane.language != shown, lane.language not in wanted)):
            if not (transcript.final or is_mine or lane.language in wanted or has_time()):
                return
            update = lane.translate(transcript, settings, publish)
            if self.sampler and update and not is_mine:
                self.sampler.add(update, is_shown=lane.language in (None, shown))
