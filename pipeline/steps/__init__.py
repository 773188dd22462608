"""The steps from the archive to shards: `process`, `dedup`, `export` (with `sharding`), and `follow`, which runs beside a crawl."""
