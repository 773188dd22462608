"""Where everything durable lies, and the formats that it has.

A `Store` (`storage.store`) is a directory (`storage.directory_store`) or a bucket of an S3-compatible server
(`storage.s3`). A stored object goes through three states. It is **staged** where nobody reads it. It is **put once**
under its final name; whoever puts the same name second changes nothing. It is **sealed** by the Manifest of its part
(`storage.manifest`): a part is complete if its Manifest is stored. An object that no Manifest names does not count, so
any program may be killed at any instruction and run again. Nobody writes to a sealed object.

A capture lives the same way. Its request and its response become WARC records (`storage.warc.exchange_records`) in the
open file of one crawler (`storage.archive.archive_writer`; the file is a `storage.archive.local_open_file` in a
directory, and `storage.archive.segments` elsewhere). They are durable after `commit()`. A full file is sealed: it is
published with its index (`storage.warc.cdxj`) and its Manifest. If the crawler dies, `storage.archive.recovery` cuts
the open file behind its last whole record and seals it. From then on it is an archive file like any other, and
`storage.warc.records` reads all of them alike, damaged ones too.

Each page, archived or not, has a line in the log of its crawl that says what became of it
(`storage.crawllog.log_line`). Log files live like archive files (`storage.crawllog.log_writer`). A line is durable no
later than the record that it names.

Texts and the decisions about them are tables (`storage.tables`). The catalog (`storage.catalog`) answers questions
about all of it quickly, but it is only a cache: deleting it loses nothing. The block cache (`storage.cache`) is one
too: it keeps on this machine's disk what was read from a bucket.

A request to a failing server is sent again as `storage.request_retry` decides, whether the server is a bucket or Common
Crawl's. Files on their way to another machine lie in the node's spool (`storage.spool`). Processes of one machine wait
for each other by `storage.file_lock`, but not for ever.

This package is a library of formats: importers name the module (`from storage.archive.archive_writer import
ArchiveWriter`).
"""

if __name__ != "thresher.storage":
    raise ImportError("import thresher.storage: `storage` is its folder in a checkout")
