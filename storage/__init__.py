"""Where everything durable lies, and the formats it lies in.

A `Store` (`storage.store`) is a directory (`storage.directory_store`) or a bucket of an S3-compatible server (`storage.s3`).
The life of a stored object: it is **staged** where nobody reads it, **put once** under its final
name (whoever comes second changes nothing), and **sealed** by the Manifest of its part
(`storage.manifest`), whose presence is completion. What no Manifest names does not count, so any program may
be killed at any instruction and run again. Nothing sealed is ever written to.

A capture lives the same way. Its request and response become WARC records (`storage.warc.exchange_records`) in the open file
of one crawler (`storage.archive.archive_writer`; `storage.archive.local_open_file` in a directory, `storage.archive.segments` elsewhere), durable from
`commit()` on. A full file is sealed: published with its index
beside it (`storage.warc.cdxj`) and its Manifest. If the crawler dies, `recover` cuts the open file behind its last
whole record and seals that. From then on it is an archive like any other in the world, and `storage.warc.records`
reads them all alike, damaged ones too.

What became of each page, archived or not, is a line in the log of its crawl (`storage.crawllog.log_line`). Its files live like archive
files (`storage.crawllog.log_writer`), and a line is durable no later than the record that it tells of.

Text and what was decided of it are tables (`storage.tables`). The catalog (`storage.catalog`) answers
questions about all of it quickly, but is only a cache: deleting it loses nothing. So is the block cache
(`storage.cache`), which keeps on this machine's disk what was read from afar.

This package is a library of formats: importers name the module (`from storage.archive.archive_writer import ArchiveWriter`).
"""
