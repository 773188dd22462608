"""Open stored signatures as `MinHash` or `LeanMinHash` of datasketch.

The permutations of `filters.dedup.signature` are those of datasketch's scheme `affine32`, with other constants. So a
`MinHash` that is made here can be updated with further shingles, merged, and put into datasketch's indexes.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from thresher.core.installation.extras import missing_extra
from thresher.filters.dedup.signature import MinHashes, permutation_parameters, shingle_hashes
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.store import Store

if TYPE_CHECKING:
    from datasketch import LeanMinHash, MinHash

SCHEME, SEED = "affine32", 1


class StoredSignature(NamedTuple):
    """The signature of a document that the filters keep."""

    id: str
    url: str
    source: str
    text_hash: bytes
    """16 bytes, equal for texts that differ only in case, width forms or white space."""
    minhash: MinHashes
    """Numbers of 32 bits."""


def stored_signatures(
    store: Store, sources: Iterable[str], permutations: int, verdict_set: str = ""
) -> Iterator[StoredSignature]:
    """Yield the signatures of all documents of the sources that a set of verdicts keeps. Memory holds one table at a
    time.

    Raise `CorruptData` if a table is not as it was sealed, or its MinHashes have another number of numbers, and
    `InputError` if the set does not cover a source.
    """
    for source in sources:
        for part in judged_parts(store, source, verdict_set):
            found = tables.read_signatures(store, [part.signatures], permutations)
            for row in zip(found.ids, found.urls, found.text_hashes, found.minhashes, strict=True):
                yield StoredSignature(row[0], row[1], source, row[2], row[3])


@overload
def to_datasketch(minhash: MinHashes, *, lean: Literal[False] = False) -> "MinHash": ...
@overload
def to_datasketch(minhash: MinHashes, *, lean: Literal[True]) -> "LeanMinHash": ...
def to_datasketch(minhash: MinHashes, *, lean: bool = False) -> "MinHash | LeanMinHash":
    """Return a MinHash of this project as datasketch's `MinHash`, or `LeanMinHash` if `lean`.

    Its `hashfunc` takes a shingle of five words in UTF-8, so `update` adds a shingle as this project counts it. Raise
    `InputError` if datasketch is not installed.
    """
    datasketch = require_datasketch()
    if lean:
        return datasketch.LeanMinHash(seed=SEED, hashvalues=minhash, scheme=SCHEME)
    return datasketch.MinHash(
        seed=SEED,
        hashfunc=shingle_number,
        hashvalues=minhash,
        permutations=np.array(permutation_parameters(len(minhash))),
        scheme=SCHEME,
    )


def shingle_number(shingle: bytes) -> int:
    """Return the number of a shingle: five words with spaces between them, in UTF-8."""
    (number,) = shingle_hashes(shingle.decode())
    return int(number)


def require_datasketch() -> Any:
    """Return the module `datasketch`. Raise `InputError` if it is not installed."""
    try:
        import datasketch  # noqa: PLC0415 - an optional extra, which imports SciPy
    except ImportError:
        raise missing_extra("datasketch", "this needs datasketch") from None
    return datasketch
