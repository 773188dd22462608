"""The cut step: it removes repeated passages, lines and paragraphs from the documents that deduplication keeps.

The entry point is `cut_run.run`. It divides the kept documents into pieces (`cut_pieces`), passes them through the
stages of `cut_stages`, checks each repeat on both texts (`cut_slices`), and writes verdicts with edits, signatures, and
a table of the cuts for each part of `process` (`cut_tables`). Exports read these tables in place of those of `process`.
"""
