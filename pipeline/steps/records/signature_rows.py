"""`SignatureRow`: what deduplication knows of one kept document, and the table of such rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from thresher.core import Document
from thresher.filters.dedup.signature import sign
from thresher.storage import tables


class SignatureRow(NamedTuple):
    """The row of a kept document in the signatures."""

    id: str
    url: str
    text_hash: bytes
    text_bytes: int
    payload_bytes: int
    fetched_at_ms: int
    minhash: np.ndarray[Any, np.dtype[np.uint32]]


def sign_document(found: Document, text: str, payload_bytes: int, permutations: int) -> SignatureRow:
    """Return the signature of a document whose edited text is `text`."""
    text_hash, minhash = sign(text, permutations)
    return SignatureRow(
        id=found.id,
        url=found.url,
        text_hash=text_hash,
        text_bytes=len(text.encode()),
        payload_bytes=payload_bytes,
        fetched_at_ms=found.fetched_at_ms,
        minhash=minhash,
    )


def signature_table(rows: Sequence[SignatureRow], permutations: int) -> pa.Table:
    """Return the table of some rows. Their MinHashes have `permutations` numbers."""
    return tables.signature_rows(
        ids=[row.id for row in rows],
        urls=[row.url for row in rows],
        text_hashes=[row.text_hash for row in rows],
        text_bytes=[row.text_bytes for row in rows],
        payload_bytes=[row.payload_bytes for row in rows],
        fetched_at_ms=[row.fetched_at_ms for row in rows],
        minhashes=np.array([row.minhash for row in rows], dtype=np.uint32).reshape(-1, permutations),
    )
