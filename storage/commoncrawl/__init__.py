"""Ingest from Common Crawl: whole files, or single records that an index lists.

`file_names` names Common Crawl's files, and `paths` reads the lists of them. Whole files are copied unchanged. For
single records, the rows (`index.row`) of a selection (`index.selection`) are looked up in one of the two indexes
(`index.zipnum`, `index.columnar`). Records that lie close together become one request (`index.range_read`). Each
received record is compared with its row (`record_check`) and appended to an archive file, after a record with the facts
of its row (`index_facts`). `batch.fetch_batch` does this for one file; `row_results` remembers the result of every row.

All requests go through `transport.source_client.SourceClient`. It retries as `storage.request_retry` allows, with as
many requests at a time as `transport.window` permits. `transport.http_source` and `transport.s3_source` are the two
ways to reach the files; `transport.response_kind` classifies their responses.
"""
