"""The node's cache of blocks that were read from object storage. Entry point: `block_cache.Cache`.

A `block` is a file that carries its own checksum. `cache_space` bounds how much room all blocks take, by the totals in
the `ledger`. `cache_counters` counts hits and misses of every process.
"""
