"""Annotations: values of each document that a user's own code or a user's table has, beside what the rules measured.

`annotate_step` runs a user's function (`annotator`) over batches of documents; `score_tables` joins a table that was
made elsewhere. Both write one table for each processed part (`annotation_tables`). `pipeline.inputs.new_documents`
makes a source of the texts that a function wrote.
"""
