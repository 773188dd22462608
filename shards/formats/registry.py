"""`FORMATS`: the shard formats of an export, by the value of `--format`.

All but `tokens` hold rows in the order of the whole dataset, sources mixed. A shard of `tokens` holds rows of one
source, because the loader mixes.
"""

from collections.abc import Mapping

from shards.formats.format import Format
from shards.formats.huggingface import HUGGINGFACE
from shards.formats.jsonl import JSONL
from shards.formats.mds import MDS
from shards.formats.megatron import MEGATRON
from shards.formats.parquet import PARQUET
from shards.formats.token_shard import TOKENS
from shards.formats.webdataset import WEBDATASET

FORMATS: Mapping[str, Format] = {
    each.name: each for each in (TOKENS, PARQUET, JSONL, WEBDATASET, MDS, MEGATRON, HUGGINGFACE)
}
