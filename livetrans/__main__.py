"""`python -m livetrans` is the console script."""

from livetrans.cli import main

if __name__ == "__main__":
    main()
