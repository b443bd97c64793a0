"""The exception tree. Raised where the error is detected, printed in one place (`livetrans.cli`), to stderr.

    LivetransError            exit code 1
    ├── UsageError            exit code 2: the command or its options are wrong
    ├── SourceError           a file, device or stream without usable audio
    ├── ModelError            a recogniser or translator that cannot be used
    │   ├── MissingModel      one that is not on this machine
    │   └── ContextError      the prompt and the output do not fit the model's context
    └── SessionError          the session file cannot be written or read

Every message says what is wrong and what to do, in one sentence. `Raises:` stands where an error is raised, or what a
port promises, and not again at each caller.
"""

from __future__ import annotations


class LivetransError(Exception):
    """An error that the user can act on; its text is shown as it is."""

    exit_code = 1


class UsageError(LivetransError):
    exit_code = 2


class SourceError(LivetransError):
    pass


class ModelError(LivetransError):
    pass


class MissingModel(ModelError):
    def __init__(self, text: str, fault: str) -> None:
        super().__init__(text)
        self.fault = fault
        """What is missing, without what to do about it."""


class ContextError(ModelError):
    pass


class SessionError(LivetransError):
    pass


def sentence(error: BaseException) -> str:
    """Return the error's text for the user, after its type if it is not a LivetransError."""
    return str(error) if isinstance(error, LivetransError) else f"{type(error).__name__}: {error}"
