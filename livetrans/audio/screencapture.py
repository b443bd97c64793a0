"""What a Mac plays, by ScreenCaptureKit; the only user of pyobjc, which the extra `mac-sound` installs.

The system gives the sound of a display's programs with its picture, of which the smallest is asked for and none is
taken. It needs no loopback device, and a refused permission is an error, where other ways give zeros.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import defaultdict
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from livetrans.audio.file import Resampler
from livetrans.audio.portaudio import OnSound, terminal
from livetrans.audio.pulse import NO_PROGRAM, NO_SERVER, NOTHING, PlayingStream, choose_program
from livetrans.base.errors import SourceError, UsageError
from livetrans.events import FULL_SCALE, SAMPLE_RATE

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "this Mac"
ANSWER_SECONDS = 15.0
LOOK_SECONDS = 1.0
"""Seconds between two looks at the displays, the programs and the stream."""
DECLINED, AUDIO = -3801, 1
"""`SCStreamErrorUserDeclined`, `SCStreamOutputTypeAudio`."""
IS_FLOAT, IS_PLANAR = 1, 32
"""`kAudioFormatFlagIsFloat`, and `IsNonInterleaved`: each channel's samples lie together."""

_CORE_GRAPHICS = "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics"
_DECLINED = (
    "macOS does not let {0} record what is played: allow it in System Settings, Privacy & Security, Screen & System "
    "Audio Recording, and start {0} again; livetrans takes the sound and no picture."
)
_FAILED = "macOS does not give what it plays ({}): try again, and restart the Mac if it stays so."


def content() -> Any:
    """Return the displays and programs that can be recorded now (an `SCShareableContent`).

    Raises:
        SourceError: the user does not allow it, or the system fails.
    """
    from ScreenCaptureKit import SCShareableContent

    # Filters look at windows, and the system ends a process that does so before it has asked for a display.
    with suppress(OSError):
        ctypes.CDLL(_CORE_GRAPHICS).CGMainDisplayID()
    answers: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
    SCShareableContent.getShareableContentWithCompletionHandler_(lambda found, error: answers.put((found, error)))
    return _awaited(answers)


def _awaited(answers: SimpleQueue[tuple[Any, Any]]) -> Any:
    """Wait for an answer that comes with an error or None; return it."""
    try:
        answer, error = answers.get(timeout=ANSWER_SECONDS)
    except Empty:
        raise SourceError(_FAILED.format("no answer")) from None
    if error is None:
        return answer
    declined = error.code() == DECLINED
    raise SourceError(_DECLINED.format(terminal()) if declined else _FAILED.format(error.localizedDescription()))


def programs_of(found: Any) -> list[PlayingStream]:
    """Return the programs of `content()`. Whether they play is not known."""
    listed = ((app.applicationName(), app.bundleIdentifier(), app.processID()) for app in found.applications())
    return [PlayingStream(number, name, bundle or "", 0, False) for name, bundle, number in listed if name]


class PlayedByMac:
    """What a Mac plays, or one program of it."""

    number = 0
    rate = SAMPLE_RATE

    def __init__(self, program: str | None, on_sound: OnSound) -> None:
        """`program`: a part of a name; one that is not open yet is waited for.

        Raises:
            UsageError: several programs match.
            SourceError: the user does not allow it, or the system fails.
        """
        self._wanted, self._on_sound = program, on_sound
        found = content()
        self._program = choose_program(programs_of(found), program) if program else None
        self.name = self._program or program or NAME
        self.absence: str = NO_PROGRAM
        """Why there is no sound, where there is none: one of `livetrans.audio.pulse.ABSENCES`."""
        self._heard: object = None
        """What the stream gives: a display, or processes of the program. None without a stream."""
        self._stream: Any = None
        self._ended = threading.Event()
        self._has_sound = False
        self._resamplers: defaultdict[int, Resampler] = defaultdict(Resampler)
        """By the rate of the sound."""

    def start(self) -> None:
        """Capture until the process ends, through all that happens to displays, the stream and the program."""
        import objc

        while True:
            if self._ended.is_set():
                self._end()
            try:
                with objc.autorelease_pool():  # A thread of Python's has none: every look would stay in memory.
                    self._follow(content())
            except SourceError:
                if self._heard is None:
                    self.absence = NO_SERVER
            time.sleep(LOOK_SECONDS)

    def _follow(self, found: Any) -> None:
        """Open a stream of what is wanted and there, if none gives that."""
        programs = []
        if self._wanted:
            with suppress(UsageError):  # Several that come in the same instant: the one that goes on is taken.
                self._program = self._program or choose_program(programs_of(found), self._wanted)
            programs = [app for app in found.applications() if self._program and app.applicationName() == self._program]
            if not programs:
                self._end()
                self.absence = NO_PROGRAM
                return
        displays = found.displays()
        if not displays:  # They sleep; a stream may go on.
            raise SourceError(_FAILED.format("no display"))
        heard = [app.processID() for app in programs] or displays[0].displayID()
        if heard != self._heard:
            self._end()
            self.absence = NO_PROGRAM if programs else NOTHING
            self._open(displays[0], programs)
            self._heard = heard

    def _open(self, display: Any, programs: list[Any]) -> None:
        """Start a stream of the sound of these programs, or of all where there are none."""
        from CoreMedia import CMTimeMake  # Its import also makes buffers come as its objects.
        from ScreenCaptureKit import SCContentFilter, SCStream, SCStreamConfiguration

        sounds = SCContentFilter.alloc()
        if programs:
            sounds = sounds.initWithDisplay_includingApplications_exceptingWindows_(display, programs, [])
        else:
            sounds = sounds.initWithDisplay_excludingWindows_(display, [])
        options = SCStreamConfiguration.alloc().init()
        options.setCapturesAudio_(True)
        options.setExcludesCurrentProcessAudio_(True)
        options.setSampleRate_(SAMPLE_RATE)
        options.setChannelCount_(1)
        options.setWidth_(2)
        options.setHeight_(2)
        options.setMinimumFrameInterval_(CMTimeMake(60, 1))
        receiver = _receiver_class().alloc().init()
        receiver.pass_on, receiver.ended = self._pass_on, self._ended
        stream = SCStream.alloc().initWithFilter_configuration_delegate_(sounds, options, receiver)
        answers: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        added, error = stream.addStreamOutput_type_sampleHandlerQueue_error_(receiver, AUDIO, None, None)
        if added:
            stream.startCaptureWithCompletionHandler_(lambda error: answers.put((None, error)))
        else:
            answers.put((None, error))
        _awaited(answers)
        self._stream = stream, receiver  # The system does not keep what it calls.

    def _end(self) -> None:
        if self._stream:
            self._stream[0].stopCaptureWithCompletionHandler_(lambda error: None)  # It may have stopped by itself.
        self._stream = self._heard = None
        self._has_sound = False
        self._ended = threading.Event()

    def _pass_on(self, buffer: Any) -> None:
        samples, rate = samples_of(buffer)
        if rate != SAMPLE_RATE:
            samples = self._resamplers[rate].feed_samples(samples, rate)
        # A program that plays nothing gives zeros, and so does a pause between words.
        self._has_sound = self._has_sound or bool(samples.any())
        if self._has_sound:
            self.absence = NOTHING
            self._on_sound(samples)


@cache
def _receiver_class() -> Any:
    """Return the class whose objects the system calls; it can be made once only."""
    from Foundation import NSObject

    class LivetransReceiver(NSObject):  # type: ignore[misc]
        def stream_didOutputSampleBuffer_ofType_(self, stream: Any, buffer: Any, kind: int) -> None:
            try:
                self.pass_on(buffer)
            except Exception:  # of which the system can make nothing
                self.ended.set()

        def stream_didStopWithError_(self, stream: Any, error: Any) -> None:
            self.ended.set()

    return LivetransReceiver


def samples_of(buffer: Any) -> tuple[NDArray[np.int16], int]:
    """Return a `CMSampleBuffer` as mono, shape (n,), and its rate.

    Raises:
        SourceError: it cannot be read, or has no floats of 32 bits, which the system gives.
    """
    import CoreMedia

    form = CoreMedia.CMSampleBufferGetFormatDescription(buffer)
    rate, _, flags, *_, channels, bits, _ = CoreMedia.CMAudioFormatDescriptionGetStreamBasicDescription(form)
    block = CoreMedia.CMSampleBufferGetDataBuffer(buffer)
    status, data = CoreMedia.CMBlockBufferCopyDataBytes(block, 0, CoreMedia.CMBlockBufferGetDataLength(block), None)
    if status or (flags & IS_FLOAT, bits) != (IS_FLOAT, 32):
        raise SourceError(_FAILED.format(f"error {status}, samples of {bits} bits"))
    samples = np.frombuffer(bytes(data), "<f4")
    samples = samples.reshape(channels, -1) if flags & IS_PLANAR else samples.reshape(-1, channels).T
    mono = np.rint(samples.mean(axis=0) * FULL_SCALE)
    return mono.clip(-FULL_SCALE, FULL_SCALE - 1).astype(np.int16), round(rate)
