"""The archive of a crawl while it is written, and after a crash. Entry points: `archive_writer.Archive`, `recovery.recover`.

A writer appends to an open file (`growing_file`; `open_file` in a directory, `segments` where a store cannot append), and publishes it
with its index and its Manifest. `unfinished` says where open files lie, `recovery` seals those of dead writers, and `reseal` makes a
lost Manifest again from the bytes and their `provenance`. `written_payloads`, `recall` and `originals` say what is archived already.
"""
