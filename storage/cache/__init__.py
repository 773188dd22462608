"""The node's cache of blocks that were read from object storage: `cache.Cache`, and what it is made of.

A `block` is a file that proves itself; `room` bounds how much all of them take, by the totals in the `ledger`; `tally`
counts hits and misses of every process; `lock` waits for another process, but not for ever.
"""
