"""Live, private, translated captions in a terminal."""

__version__ = "0.1.0"
