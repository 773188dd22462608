"""`FORMATS`: the shard formats of an export, by the value of `--format`.

All but `tokens` hold rows in the order of the whole dataset, sources mixed. A shard of `tokens` holds rows of one
source, because the loader mixes.
"""

from collections.abc import Mapping

from thresher.shards.formats.format import Format
from thresher.shards.formats.huggingface import HUGGINGFACE
from thresher.shards.formats.jsonl import JSONL
from thresher.shards.formats.mds import MDS
from thresher.shards.formats.megatron import MEGATRON
from thresher.shards.formats.parquet import PARQUET
from thresher.shards.formats.token_shard import TOKENS
from thresher.shards.formats.webdataset import WEBDATASET

FORMATS: Mapping[str, Format] = {
    each.name: each for each in (TOKENS, PARQUET, JSONL, WEBDATASET, MDS, MEGATRON, HUGGINGFACE)
}
