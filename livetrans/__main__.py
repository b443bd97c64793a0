"""`python -m livetrans` and the console script: Ctrl-C gives no traceback from the first import on."""


def main() -> None:
    """Import the command line and run it."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Nothing is open yet, so nothing has to be closed. An ignored signal stays ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from livetrans import cli
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    cli.main()


if __name__ == "__main__":
    main()
