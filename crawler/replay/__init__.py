"""Leases and whole frontiers that are recovered from the archive, without the web. The entry point is `replay.recover`.

`replay` settles the leases whose pages dead workers archived. `restore` and `relink` rebuild a lost frontier from the
crawl's log and archive. `outbox` logs the pages that the frontier settled by itself.
"""
