"""Read inputs that were made elsewhere, record by record: archives, tables, texts, tars and dumps.

A reader turns an opened input into items (`entry.Item`). Ingestion writes each usable item as one WARC record; from
then on the record is read, processed, traced and forgotten like a page that the crawler fetched.
`input_kinds.detect_kind` chooses the reader, `volumes.ingest_volumes` and `shared_archive.SharedArchive` write the
archive files.
"""
