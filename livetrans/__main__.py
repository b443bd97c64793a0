"""`python -m livetrans` and the console script: Ctrl-C gives no traceback from the first import on."""

from __future__ import annotations

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Nothing is open yet: to die of the signal is the whole clean-up. An ignored signal stays ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from livetrans import cli

    cli.main()


if __name__ == "__main__":
    main()
