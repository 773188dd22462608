"""What recipes and reports say about deduplication. The modules that do it need NumPy; this one does not."""

from thresher.core.unicode14 import VERSION

SHINGLE_WORDS = 5
SEED = 1
"""Of the permutations of a MinHash (`filters.dedup.signature`)."""
UNITS_VERSION = f"repeat-units@1 {VERSION}"
"""Names the rules of `filters.dedup.repeat_units`. Belongs in every recipe that compares units."""
CUT_KINDS = ("paragraph", "line", "substring")
"""Names of the kinds of units that may be cut, by number."""


def signature_version(permutations: int) -> str:
    """Return the name of the rules of `filters.dedup.signature`, which belongs in every recipe that signs texts."""
    return (
        f"xxh128 of NFKC casefold; minhash@3 of {SHINGLE_WORDS} words, {VERSION}, "
        f"{permutations} permutations, seed {SEED}"
    )
