"""Write the dataset for training: documents in a seeded order, as tokens, in sealed Parquet files.

Every kept document gets a number, by the order of its part and its row. A full-period permutation of these numbers
(`shards.permutation`) gives the document's place in the dataset, and the place gives its shard. The dataset is never
sorted as a whole, and no list of all documents exists, because a document's number alone determines its place.

The text becomes token ids (`shards.tokenizer`) and one row of `shards.formats`: the ids, the URL, and the file and
offset of the WARC record that the document came from. So every row of a shard leads back to the bytes that were
received.
"""

if __name__ != "thresher.shards":
    raise ImportError("import thresher.shards: `shards` is its folder in a checkout")

from thresher.shards.dataset import Dataset, ShardFile
from thresher.shards.permutation import Permutation

__all__ = ["Dataset", "Permutation", "ShardFile"]
