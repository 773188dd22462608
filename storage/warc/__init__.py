"""WARC/1.1 and the formats beside it, as bytes. Entry points: `exchange_records.capture_records` and
`records.read_records`.

`exchange_records` makes the records of an exchange, `validator` checks each before it is written, and `compression`
packs them, one member a record. `records` reads any WARC file, through `members` and `payload`. `cdxj` is the index
beside a file (`index_lines` holds it while the file grows), and `wacz` packs an archive for ReplayWeb.page. `revisit`,
`dropped` and `capture_metadata` are the blocks of single record types.
"""
