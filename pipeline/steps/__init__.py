"""The steps from the archive to shards: `process`, `dedup`, `export` (with `sharding`), and `follow`.

`follow` runs the process step beside a running crawl.
"""
