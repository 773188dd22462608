"""Decide which windows, lines and paragraphs repeat others, from rows with their hashes. Pure.

1. A unit is a window of words, a line or a paragraph (`repeat_units`). Units of one kind with equal hashes are a group.
2. A group repeats if it has a second unit (windows), or if enough documents have it (lines and paragraphs).
3. In a group that repeats, the first unit stays: that of the best document, and of one document the first in the text.
   The others are claims: each says which unit it repeats. A window that overlaps its own first unit stays too.
4. Neighbours whose first units are neighbours as well become one repeat.

Pieces are numbered ranges of documents, and documents are numbered within their piece.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.filters.dedup.dedup_rows import WORD, converted
from thresher.filters.dedup.dedup_versions import CUT_KINDS
from thresher.filters.dedup.document_rows import DAY_MS, Preference
from thresher.filters.dedup.zsets import SIGN, Rows, identity, sort_order, starts_of

SUBSTRING = CUT_KINDS.index("substring")
HASH = ("hash", "check", "kind")
"""The fields that a group shares."""

_HASHES = [("hash", WORD), ("check", WORD), ("kind", "u1")]
_PLACE = [("piece", "<u4"), ("document", "<u4"), ("unit", "<u4")]
_FIRST = [("first_piece", "<u4"), ("first_document", "<u4"), ("first_unit", "<u4")]

COUNTS = np.dtype([*_HASHES, ("piece", "<u4"), ("count", "<u4"), (SIGN, "i1")])
"""How many documents of a piece have a line or paragraph, or how many of its windows a filter."""
REPEATED = np.dtype([("piece", "<u4"), *_HASHES, (SIGN, "i1")])
"""Lines, paragraphs and filters of windows of a piece that repeat somewhere."""
UNITS = np.dtype([*_HASHES, ("rank", WORD), ("text", WORD), *_PLACE, (SIGN, "i1")])
"""Units that may repeat. `rank` and `text` are the order of the documents."""
FIRSTS = np.dtype([("piece", "<u4"), *_HASHES, *_FIRST, (SIGN, "i1")])
"""The first unit of each group that a piece has units of."""
CLAIMS = np.dtype([*_PLACE, ("kind", "u1"), *_FIRST, (SIGN, "i1")])
"""Units that repeat the first ones of their groups."""
REPEATS = np.dtype([*_FIRST, ("kind", "u1"), *_PLACE, ("count", "<u4"), (SIGN, "i1")])
"""Runs of `count` claims, by the place that they repeat."""

_SOURCE_BITS, _DAY_BITS, _SIZE_BITS = 16, 20, 28
"""Bits of a rank for 65,536 preferred sources, 2,800 years, and texts up to 256 MiB: 64 together."""
_OPPOSITES: dict[str, Preference] = {"oldest": "newest", "shortest": "longest"}


def document_ranks(
    prefer: Sequence[Preference],
    source_rank: int,
    fetched_at_ms: npt.NDArray[np.int64],
    text_bytes: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint64]:
    """Return a number for each document of a source that is smaller for a better document."""
    ranks = np.zeros(len(text_bytes), np.uint64)
    seen = set[str]()
    for preference in prefer:
        quantity = _OPPOSITES.get(preference, preference)
        if quantity in seen:
            continue  # the first of two opposite preferences decides
        seen.add(quantity)
        numbers, bits = {
            "source": (np.full(len(ranks), source_rank), _SOURCE_BITS),
            "newest": (np.maximum(fetched_at_ms, 0) // DAY_MS, _DAY_BITS),
            "longest": (text_bytes, _SIZE_BITS),
        }[quantity]
        largest = (1 << bits) - 1
        numbers = np.minimum(numbers, largest)
        if preference in {"newest", "longest"}:
            numbers = largest - numbers
        ranks = (ranks << np.uint64(bits)) | numbers.astype(np.uint64)
    return ranks


def repeated(counts: Rows, fewest: Sequence[int]) -> Rows:
    """Return the rows of `REPEATED` of groups whose counts add up to `fewest` of their kind or more, sorted."""
    rows = counts[sort_order(counts, HASH)]
    starts = starts_of(rows, HASH)
    if not len(rows):
        return np.empty(0, REPEATED)
    sums = np.add.reduceat(rows["count"].astype(np.int64), starts)
    enough = sums >= np.array(fewest)[rows["kind"][starts]]
    sizes = np.diff(np.append(starts, len(rows)))
    return in_order(converted(rows[np.repeat(enough, sizes)], REPEATED))


def best_units(units: Rows) -> Rows:
    """Return the first unit of each group. `units` is sorted."""
    return units[starts_of(units, HASH)]


def firsts(best: Rows) -> Rows:
    """Return the rows of `FIRSTS` of whole groups, sorted. `best` has the first unit of each piece in each group."""
    rows = in_order(best)
    starts = starts_of(rows, HASH)
    of = rows[np.repeat(starts, np.diff(np.append(starts, len(rows))))]
    return in_order(converted(rows, FIRSTS, **{f"first_{name}": of[name] for name, _ in _PLACE}))


def claims(units: Rows, found: Rows) -> Rows:
    """Return the rows of `CLAIMS` of the units of a piece. `units` and the piece's `FIRSTS` are sorted.

    Raise `ValueError` if they do not have the same groups.
    """
    starts = starts_of(units, HASH)
    if len(starts) != len(found) or any((units[name][starts] != found[name]).any() for name in HASH):
        raise ValueError("the first units of a piece do not fit its units")
    of = found[np.repeat(np.arange(len(found)), np.diff(np.append(starts, len(units))))]
    is_first = np.ones(len(units), np.bool_)
    for name, _ in _PLACE:
        is_first &= units[name] == of[f"first_{name}"]
    others = np.flatnonzero(~is_first)
    return converted(units[others], CLAIMS, **{name: of[name][others] for name, _ in _FIRST})


def repeats(found: Rows, words: int) -> Rows:
    """Return the rows of `REPEATS` of all claims of a piece, sorted. A window has so many words."""
    same = (found["piece"] == found["first_piece"]) & (found["document"] == found["first_document"])
    overlaps = same & (found["kind"] == SUBSTRING) & (found["first_unit"] + words > found["unit"])
    rows = found[~overlaps]
    if not len(rows):
        return np.empty(0, REPEATS)
    fields = ("piece", "document", "kind", "unit")
    rows = rows[np.lexsort([rows[name] for name in reversed(fields)])]
    goes_on = np.ones(len(rows) - 1, np.bool_)
    for name in ("piece", "document", "kind", "first_piece", "first_document"):
        goes_on &= rows[name][1:] == rows[name][:-1]
    for name in ("unit", "first_unit"):
        goes_on &= rows[name][1:] == rows[name][:-1] + 1
    starts = np.concatenate(([0], np.flatnonzero(~goes_on) + 1))
    counts = np.diff(np.append(starts, len(rows)))
    return in_order(converted(rows[starts], REPEATS, count=counts))


def in_order(rows: Rows) -> Rows:
    """Return rows sorted by all their fields."""
    return rows[sort_order(rows, identity(rows.dtype))]


def last_word(unit: int, count: int, kind: int, words: int) -> int:
    """Return the number of the last word, line or paragraph of a run of `count` units."""
    return unit + count - 1 + (words - 1 if kind == SUBSTRING else 0)


def rows_of(dtype: np.dtype[Any], size: int, **columns: Any) -> Rows:
    """Return rows that are present, from columns or numbers."""
    rows = np.zeros(size, dtype)
    rows[SIGN] = 1
    for name, values in columns.items():
        rows[name] = values
    return rows
