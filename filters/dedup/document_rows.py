"""Rows of documents from their signatures: ids and hashes as words, and the rank. Pure.

The rank is an order of all documents, best first: the preferences of the settings, the hash of the text, the id. Each
is a word of 64 bits that is smaller for a better document.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from thresher.core import CorruptData
from thresher.filters.dedup.dedup_rows import BAND, ID, SITE, TEXT, URL, RowTypes, converted
from thresher.filters.dedup.signature import MinHashes, band_keys, has_shingles
from thresher.filters.dedup.zsets import SIGN, Rows, identity, sort_order

Preference = Literal["source", "newest", "oldest", "longest", "shortest"]
PREFERENCES: tuple[Preference, ...] = ("source", "newest", "oldest", "longest", "shortest")
ID_DIGITS = 32
DAY_MS = 86_400_000
"""Pages are as new as each other if they were fetched on one day (UTC): the pace of a crawl decides nothing."""

Words = npt.NDArray[np.uint64]


class SignatureColumns(Protocol):
    """Signatures as columns; row n of every column belongs to the same document."""

    @property
    def ids(self) -> Sequence[str]:
        """Ids of documents: 32 hexadecimal digits."""
        ...

    @property
    def urls(self) -> Sequence[str]:
        """URLs; empty if there is none."""
        ...

    @property
    def text_hashes(self) -> Sequence[bytes]:
        """16 bytes each; equal for equal texts."""
        ...

    @property
    def text_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of the texts in UTF-8."""
        ...

    @property
    def payload_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of the pages."""
        ...

    @property
    def fetched_at_ms(self) -> npt.NDArray[np.int64]:
        """When the pages were fetched; 0 if it is not known."""
        ...

    @property
    def minhashes(self) -> MinHashes:
        """One row each."""
        ...


class TableFacts(NamedTuple):
    """What the documents of one table of signatures have in common."""

    table: int
    """Hash of the table's name and digest."""
    source: str
    source_rank: int
    """Place of the source among the preferred ones; their number if it is none of them."""


def table_hash(name: str, sha256: str) -> int:
    """Return the hash that stands for a table of signatures."""
    return xxhash.xxh3_64_intdigest(f"{name}\n{sha256}".encode())


def site_hash(url: str) -> int:
    """Return a hash of the host and port of a URL; 0 if it is not the URL of a page of the web."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].lower() if scheme in {"http", "https"} else ""
    return xxhash.xxh3_64_intdigest(host.encode()) if host else 0


def document_rows(
    types: RowTypes,
    columns: SignatureColumns,
    facts: TableFacts,
    prefer: Sequence[Preference],
    *,
    within_source: bool,
) -> Rows:
    """Return the rows of `documents` of one table, in its order. Raise `CorruptData` if an id is none."""
    rows = np.zeros(len(columns.ids), types.documents)
    rows["table"], rows[SIGN] = facts.table, 1
    rows["group"] = xxhash.xxh3_64_intdigest(facts.source.encode()) if within_source else 0
    rows["fetched"], rows["text_bytes"] = np.maximum(columns.fetched_at_ms, 0), columns.text_bytes
    rows["payload_bytes"], rows["minhash"] = columns.payload_bytes, columns.minhashes
    _fill(rows, ID, _id_bytes(columns.ids))
    _fill(rows, TEXT, b"".join(columns.text_hashes))
    _fill(
        rows,
        URL,
        b"".join(xxhash.xxh3_128_digest(url.encode()) if url else bytes(16) for url in columns.urls),
    )
    rows[SITE] = [site_hash(url) for url in columns.urls]
    for at, preference in enumerate(prefer):
        rows[f"rank_{at}"] = _rank(rows, facts, preference)
    # Before the id, because ids of the same pages differ between two crawls.
    rows[f"rank_{len(prefer)}"] = rows["text_hi"]
    return rows


def text_rows(types: RowTypes, documents: Rows) -> Rows:
    """Return the rows of `texts` of documents. Documents that are not compared have different keys."""
    rows = converted(documents, types.texts)
    rows["text_hi"] ^= documents["group"]
    has_url = (rows["url_hi"] != 0) | (rows["url_lo"] != 0)
    rows["url_hi"][has_url] ^= documents["group"][has_url]
    return rows.take(sort_order(rows, identity(rows.dtype)))


def band_rows(types: RowTypes, stays: Rows, documents: Rows, bands: int, rows: int) -> Rows:
    """Return the rows of `bands` of documents that stay, sorted. `documents` has the same documents in the same order.

    A document without shingles has no bands.
    """
    signed = has_shingles(documents["minhash"])
    stays, documents = stays[signed], documents[signed]
    found = np.empty((bands, len(stays)), types.bands)
    found[:] = converted(stays, types.bands, **{BAND[0]: 0})
    # Numbers of a band lie together then.
    minhashes = np.asfortranarray(documents["minhash"])
    for band in range(bands):
        found[BAND[0]][band] = band_keys(minhashes, band, rows) ^ documents["group"]
    found = found.reshape(-1)
    return found.take(sort_order(found, identity(found.dtype)))


def hex_ids(rows: Rows, fields: tuple[str, str] = ID) -> list[str]:
    """Return ids as they stand in tables."""
    words = np.stack([rows[name] for name in fields], axis=1).astype(">u8").tobytes().hex()
    return [words[at : at + ID_DIGITS] for at in range(0, len(words), ID_DIGITS)]


def _fill(rows: Rows, fields: tuple[str, str], data: bytes) -> None:
    words = np.frombuffer(data, ">u8").reshape(-1, 2)
    for at, name in enumerate(fields):
        rows[name] = words[:, at]


def _id_bytes(ids: Sequence[str]) -> bytes:
    try:
        data = bytes.fromhex("".join(ids))
    except ValueError as error:
        raise CorruptData(f"an id of a document is no number: {error}") from error
    if any(len(each) != ID_DIGITS for each in ids):
        raise CorruptData(f"an id of a document does not have {ID_DIGITS} digits")
    return data


def _rank(rows: Rows, facts: TableFacts, preference: Preference) -> Any:
    match preference:
        case "source":
            return facts.source_rank
        case "newest":
            return ~(rows["fetched"] // DAY_MS)
        case "oldest":
            return rows["fetched"] // DAY_MS
        case "longest":
            return ~rows["text_bytes"]
        case "shortest":
            return rows["text_bytes"]
