"""Replacements for a source, a recogniser, a translator, a disk and a clock, whose behaviour a test chooses.

Imported by tests and benchmarks only; it ships in the package so that a new recogniser or sink can be tested by it too.
"""
