"""What could be tried only on real machines, as checks: `make real`, or `python -m tests.real --help`.

`checks.py` is the list, `here.py` is what a check works with, `runner.py` runs each check in a process of its own, and
`report.py` writes the report and docs/real.md. `speech/` has recordings of people; its manifest names their sources.
"""
