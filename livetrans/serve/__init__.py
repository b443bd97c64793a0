"""Captions for browsers and other programs: a page, and a stream of events over HTTP (docs/serve.md)."""
