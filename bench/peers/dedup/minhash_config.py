"""datatrove's MinHash as the benches compare it: FineWeb's 14 bands of 8 rows over shingles of five words."""

from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.utils.hashing import HashConfig

BANDS, ROWS, WORDS = 14, 8, 5


def minhash_config() -> MinhashConfig:
    """Return the configuration of all stages."""
    return MinhashConfig(
        n_grams=WORDS,
        num_buckets=BANDS,
        hashes_per_bucket=ROWS,
        hash_config=HashConfig(hash_fc="sha1", precision=64),
    )
