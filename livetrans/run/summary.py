"""What is said at the end of a run: what was heard and kept, and what was measured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from livetrans.base.errors import SessionError
from livetrans.base.text import counted, duration
from livetrans.events import Caption, Record, RunEnded, RunStarted, SourceProgress, Transcript
from livetrans.metrics.monitor import Snapshot
from livetrans.session.recorder import AUDIO_FILE, SessionRecorder
from livetrans.session.sinks import Sink
from livetrans.session.store import remove, sessions_folder, shell_name


class RunSummary:
    """A sink that notes what was heard; as the context of a run, it says at the end what was heard and kept.

    It does so however the run ends, and removes a session without words. `writes_subtitles`: the caller writes them
    after a run that ended in order.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        records: Sequence[Sink],
        *,
        writes_subtitles: bool = False,
        has_words: bool = False,
    ) -> None:
        self._say = say
        self._recorder = next((one for one in records if isinstance(one, SessionRecorder)), None)
        self._writes_subtitles, self._has_words = writes_subtitles, has_words
        self._has_begun = self._has_voices = False
        self._progress: SourceProgress | None = None
        self.lag: float | None = None
        """The median lag in seconds, where no line of figures follows."""
        self._was_stopped = self.was_left = False
        """Whether the run was left at once, before what it heard was translated."""

    def write(self, record: Record) -> None:
        match record.event:
            case RunStarted():
                self._has_begun = True
            case SourceProgress() as progress:
                self._progress = progress
                self._has_voices = self._has_voices or progress.speaking
            case RunEnded(reason=reason):
                self._was_stopped = reason == "stopped"
            case Transcript() | Caption():
                self._has_words = True
            case _:
                pass

    def close(self) -> None:
        """Do nothing: it is asked after the run has ended."""

    @property
    def stopped_at(self) -> str | None:
        """How much of the source was heard, where the user ended the run before its end; None otherwise."""
        if not (self._was_stopped or self.was_left):
            return None
        heard, total = (self._progress.heard, self._progress.total) if self._progress else (0.0, None)
        return duration(heard) + (f" of {duration(total)}" if total else "")

    @property
    def _is_unheard(self) -> bool:
        """Whether the run ended before its models were loaded: what it recorded was not heard."""
        return self._has_begun and self._progress is None and not self._has_words

    def __enter__(self) -> RunSummary:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.was_left, failed = self.was_left or isinstance(error, KeyboardInterrupt), isinstance(error, Exception)
        with contextlib.suppress(OSError):  # The terminal may have gone.
            if self._has_begun and not (self._has_words or failed):
                if self._is_unheard:
                    self._say("The run ended before its models were loaded.")
                elif self._has_voices:
                    self._say("Speech was heard, but no words were recognised.")
                else:
                    self._say("No speech was heard.")
            for line in self._kept(self.was_left or failed or not self._writes_subtitles):
                self._say(line)

    def _kept(self, advises: bool) -> Iterator[str]:
        """Yield what is kept of the session, and how to go on; remove one that holds nothing.

        `advises`: how to get subtitles.
        """
        if (recorder := self._recorder) is None:
            return
        folder, captions = recorder.folder, recorder.summary.captions
        if captions:
            only = "Only " if recorder.has_failed else ""
            lag = f", lag {self.lag:.2f} s," if self.lag is not None else ""
            yield f"{only}{counted(captions, 'caption')}{lag} {'is' if captions == 1 else 'are'} kept in {folder}"
            if advises:
                yield f"For subtitles: livetrans export {shell_name(folder)} -o captions.srt"
        elif self._has_words or not recorder.is_new or (folder / AUDIO_FILE).exists():
            yield f"{'Only a part of the' if recorder.has_failed else 'The'} session is kept in {folder}"
        elif folder.parent == sessions_folder():
            recorder.close()
            with contextlib.suppress(SessionError):
                remove(folder)
            return
        if self._is_unheard or (self.was_left and self._has_words):
            yield f"To translate {'it' if self._is_unheard else 'the rest'}: livetrans resume {shell_name(folder)}"


def measured(figures: Snapshot) -> str | None:
    """Return what the panel would show at the end, as far as it was measured."""
    parts = []
    if figures.lag_median is not None:
        parts.append(f"median lag {figures.lag_median:.2f} s, 95 % within {figures.lag_p95:.2f} s")
    if figures.ne_screen is not None and figures.segments > 1:  # One sentence says nothing of flicker.
        parts.append(f"NE of the screen {figures.ne_screen:.2f}")
    if figures.ne_compared is not None:
        compared = f"{figures.ne_compared:.2f}, with re-translation {figures.ne_retranslation:.2f}"
        parts.append(f"NE in {figures.compared_updates} compared updates {compared}")
    if figures.speedup_text:
        how = "estimated" if figures.speedup is None else "measured"
        parts.append(f"speedup {figures.speedup_text}, {how}")
    return f"Figures: {'; '.join(parts)}" if parts else None
