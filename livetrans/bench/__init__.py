"""The paper's tables: methods on corpora to JSON lines (`run`), and tables from the lines alone (`tables`)."""
