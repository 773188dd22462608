"""WARC/1.1 and the formats beside it, as bytes. Entry points: `exchange_records.capture_records`, `records.read`.

`exchange_records` makes records of an exchange and `validator` checks each before it is written; `compression` packs them, one
member a record. `records` reads any WARC file, through `members` and `payload`. `cdxj` is the index beside a file, `wacz` packs an
archive for ReplayWeb.page. `revisit`, `dropped` and `capture_metadata` are blocks of single record types.
"""
