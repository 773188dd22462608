"""The archive of a crawl while it is written, and after a crash. Entry points: `archive_writer.ArchiveWriter` and
`recovery.recover_archives`.

A writer appends to an open file (`open_archive_file`), whose bytes lie in a `local_open_file` if the store is a
directory, and in `segments` if the store cannot append. It publishes the file with its index and its Manifest.
`open_files` says where open files lie, and `record_ids` which ids the records of a lease have. `recovery` seals those
of dead writers. `reseal` makes a lost Manifest again from the bytes and their `provenance`. `written_payloads`,
`recent_payloads` and `originals` say what is archived already.
"""
