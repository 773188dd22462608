"""What a trainer reads: documents in a seeded order, as tokens, in sealed Parquet files.

Every kept document gets a number, by the order of its part and its row. A full-period permutation of those
numbers (`shards.permutation`) says which place in the dataset it takes, and the place says which shard. Nothing is
sorted as a whole and no list of all documents exists: a document knows its place from its number alone.

On the way its text becomes token ids (`shards.tokenizer`) and one row of `shards.format`: the ids, the URL,
and the file and offset of the WARC record that it came from. A row of a shard leads back to the bytes that
came over the wire.
"""

from shards.dataset import Dataset, ShardFile
from shards.permutation import Permutation

__all__ = ["Dataset", "Permutation", "ShardFile"]
