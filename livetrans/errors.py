"""The exception tree. Raised where the fault is seen, printed in one place (`livetrans.cli`), to stderr, as one
sentence.

    LivetransError            exit code 1
    ├── UsageError            exit code 2: the command cannot mean what it says
    ├── SourceError           a file, device or stream that gives no sound
    ├── ModelError            a recogniser or translator that cannot be used
    │   └── ContextError      the prompt and the output do not fit the model's context
    └── SessionError          the session file cannot be written or read

Every message says what is wrong and what to do, in one sentence.
"""

from __future__ import annotations


class LivetransError(Exception):
    """Something the user can act on; its text is shown as it is."""

    exit_code = 1


class UsageError(LivetransError):
    exit_code = 2


class SourceError(LivetransError):
    pass


class ModelError(LivetransError):
    pass


class ContextError(ModelError):
    pass


class SessionError(LivetransError):
    pass


def sentence(error: BaseException) -> str:
    """What to tell the user of any failure: ours speak for themselves, others name their kind."""
    return str(error) if isinstance(error, LivetransError) else f"{type(error).__name__}: {error}"
