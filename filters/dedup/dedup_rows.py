"""The row types of the tables that deduplication keeps and passes on. Pure.

Every row is signed (`zsets`). Ids, hashes and ranks are words of 64 bits, so that rows are sorted by numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.filters.dedup.zsets import SIGN, IntArray, Rows

WORD = np.dtype("<u8")
ID = ("id_hi", "id_lo")
"""The fields of a document's id: its 32 hexadecimal digits as two words."""
WITNESS = ("witness_hi", "witness_lo")
TEXT, URL, BAND = ("text_hi", "text_lo"), ("url_hi", "url_lo"), ("band",)
"""The fields that a group of rows shares."""
SITE = "site"
"""The field with the hash of the host of a document's URL; 0 if it has none."""
SIZES = ("text_bytes", "payload_bytes")
"""Sizes of a document, which removals add up."""
KINDS = ("exact", "url", "near")
"""Names of the kinds of a removal, by number."""


class RowTypes(NamedTuple):
    """The row types for ranks of some number of words and signatures of some number of permutations."""

    documents: np.dtype[Any]
    """Everything that is decided with, by id. `table` is a hash of the table of signatures that has the document,
    `group` one of the documents that it is compared with: 0 for all."""
    texts: np.dtype[Any]
    """All documents, by the hash of their text."""
    urls: np.dtype[Any]
    """Documents with a URL that are the best of their text, by URL."""
    stays: np.dtype[Any]
    """Documents that stay after texts and URLs, by id."""
    bands: np.dtype[Any]
    """The same documents by each of their bands."""
    members: np.dtype[Any]
    """Documents of touched bands that have several, by id: whether they were and are in the band."""
    candidates: np.dtype[Any]
    """Members by band and rank, with their site, and the lower halves of the numbers of their MinHash: two different
    numbers have equal halves once in 65,536 times."""
    matches: np.dtype[Any]
    """Documents that have a witness in a band, by id, and whether they are copies of it (`site_text`)."""
    removals: np.dtype[Any]
    """Documents that are removed, by id."""


def row_types(rank_words: int, permutations: int) -> RowTypes:
    """Return the row types for ranks of `rank_words` words, the id not counted."""
    rank = tuple(f"rank_{n}" for n in range(rank_words))
    facts = ("fetched", *URL, *SIZES)
    return RowTypes(
        documents=_dtype(*ID, "table", "group", SITE, *rank, *facts, *TEXT, minhash=("<u4", permutations)),
        texts=_dtype(*TEXT, *rank, *ID, *facts),
        urls=_dtype(*URL, "fetched", *rank, *ID, *SIZES),
        stays=_dtype(*ID),
        bands=_dtype(*BAND, *ID),
        members=_dtype(*ID, *BAND, was="u1", now="u1"),
        candidates=_dtype(*BAND, *rank, *ID, SITE, *SIZES, was="u1", now="u1", minhash=("<u2", permutations)),
        matches=_dtype(*ID, *BAND, *WITNESS, *SIZES, equal="<u2", resemblance="u1"),
        removals=_dtype(*ID, *WITNESS, *SIZES, kind="u1", equal="<u2"),
    )


def converted(rows: Rows, dtype: np.dtype[Any], **others: Any) -> Rows:
    """Return rows of another type: fields from `rows`, or from `others` by name."""
    taken = np.empty(len(rows), dtype)
    for name in dtype.names or ():
        taken[name] = others[name] if name in others else rows[name]
    return taken


def find(rows: Rows, among: Rows, fields: tuple[str, str] = ID) -> IntArray:
    """Return the index of each row's id, which `fields` hold, in rows that are sorted by id; -1 if it is not there."""
    if not len(among):
        return np.full(len(rows), -1, np.int64)
    high, low = (rows[name] for name in fields)
    at = np.searchsorted(among["id_hi"], high)
    last = len(among) - 1
    # The first word of an id is a hash: ids that share it hardly exist.
    while True:
        inside = np.minimum(at, last)
        behind = (at <= last) & (among["id_hi"][inside] == high) & (among["id_lo"][inside] < low)
        if not behind.any():
            break
        at[behind] += 1
    is_there = (at <= last) & (among["id_hi"][inside] == high) & (among["id_lo"][inside] == low)
    return np.where(is_there, inside, -1)


def locate(rows: Rows, among: Rows) -> IntArray:
    """Return the index of each row's id in rows that are sorted by id. Raise `KeyError` if one is not there."""
    found = find(rows, among)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        raise KeyError(_hex(rows[missing[0]]))
    return found


def _hex(row: Any) -> str:
    return f"{int(row['id_hi']):016x}{int(row['id_lo']):016x}"


def _dtype(*words: str, **others: Any) -> np.dtype[Any]:
    return np.dtype([*((name, WORD) for name in words), *others.items(), (SIGN, "i1")])
