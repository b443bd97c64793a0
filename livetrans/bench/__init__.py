"""The paper's tables: methods on corpora to JSON lines, and tables and plots from the lines alone.

`corpora` and `methods` say what is translated and how; `run` translates, and `writer` writes a run file (`runfile`).
`measures`, with `viewer` for what the viewer sees, is what the rows of `figures` are computed from; `tables` chooses
figures and rows, `notes` adds what a reader must know, `table` writes the page; `plot` draws. `paper.toml` has the
paper's own figures. `case`, `cost` and `exports` make a page each.
"""
