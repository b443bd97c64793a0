"""What tests put in place of a source, a recogniser, a translator, a disk or a clock: each does as it is told.

Imported by tests and benchmarks only; it ships in the package so that a new recogniser or sink can be tested by it too.
"""
