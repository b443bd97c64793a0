"""The paper's tables: methods on corpora to JSON lines, and tables and plots from the lines alone.

`corpora` says what is translated; `run` translates it by several methods into a run file (`runfile`). `measures` has
what figures are computed from; `tables` has the figures and the rows of each table; `plot` draws. `paper.toml` has the
paper's own figures.
"""
