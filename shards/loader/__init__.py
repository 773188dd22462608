"""Stream the shards of an export into training: one global order for any number of ranks, resumed exactly.

1. `datasets` opens the manifests of one or several exports; their shards have the format `tokens`.
2. `plans` finds out how many sequences each shard has (`shards.packing`).
3. `epoch_order` is a permutation of the sequences of a source, and `schedule` says which source each sequence of the
   run is from. Both are pure functions of a sequence's number, so a state is a number.
4. `sequence_reader` turns numbers into pieces of shards; `shard_access` maps these shards, from a directory or from
   the cache of this machine (`shard_cache`); `shards.packed_rows` copies them into arrays.
5. `loader.Loader` gives one rank its rows of each step, and `token_origin` leads from a token to its WARC record.
"""
