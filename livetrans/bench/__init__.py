"""The paper's tables: methods on corpora to JSON lines, and tables and plots from the lines alone.

`corpora` and `methods` say what is translated and how; `run` translates and writes a run file (`runfile`). `scoring`
makes a row of each method (`rows`, with `viewing` for what the viewer sees), from which `tables` and `own_tables`
choose by the columns in `figures`; `provenance` adds what a reader must know, `paper` the paper's own figures, `labels`
what tells runs apart; `layout` and `latex` render. `plot` draws rows on a `sheet`. `case`, `cost` and `exports` make a
page each.
"""
