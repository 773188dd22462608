"""Reach the bytes of shards and of their packing plans: in a directory, or in a bucket through a cache on this machine.

1. `shard_access` gives the token ids of a shard by its number: mapped from a directory, or from the cache of a bucket.
2. `shard_cache` keeps whole shards of a bucket for all processes of a machine; `use_locks` says which are in use.
   `daemon_pool` downloads them, and `remote_shard` reads the first batches block by block meanwhile.
3. `plans` gives the packing plan of a shard, and `plan_cache` keeps plans that the export does not have.
4. `mapped_files` bounds how much is mapped at one time.

Every file is bound to the manifest of its export: see `shards.formats.checked_file`.
"""
