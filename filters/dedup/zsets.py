"""Sets of rows with signs: 1 for a row that is there or enters, -1 for one that leaves. Pure.

A table is the sum of everything that was ever added to it: equal rows add their signs, and a row with the sum 0 is not
there. Sums need no order, so a table may lie in any number of pieces. Rows are structured NumPy arrays whose last field
is `sign`; all fields but `minhash` and `sign` identify a row, in the order in which rows are sorted.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Rows: TypeAlias = npt.NDArray[np.void]
IntArray = npt.NDArray[np.int64]

SIGN = "sign"
PAYLOAD = frozenset({"minhash", SIGN})
"""Fields that follow from the others, and do not identify a row."""


def identity(dtype: np.dtype[Any]) -> list[str]:
    """Return the fields that identify a row, in their order."""
    return [name for name in dtype.names or () if name not in PAYLOAD]


def sort_order(rows: Rows, fields: Sequence[str]) -> IntArray:
    """Return an order that sorts rows by fields. Rows that share all fields come in any order."""
    first = np.ascontiguousarray(rows[fields[0]])
    if (first[1:] >= first[:-1]).all():
        order = np.arange(len(rows))
    else:
        order = np.argsort(first)
        first = first[order]
    # First fields are hashes: few rows share one. Only these are compared by the next field, and so on.
    same = first[1:] == first[:-1]
    if len(fields) == 1 or not same.any():
        return order
    places = np.flatnonzero(np.concatenate(([False], same)) | np.concatenate((same, [False])))
    groups = np.cumsum(np.concatenate(([True], ~same)))[places]
    for name in fields[1:]:
        among = order[places]
        values = rows[name][among]
        by_value = np.lexsort((values, groups))
        order[places], values = among[by_value], values[by_value]
        same = (groups[1:] == groups[:-1]) & (values[1:] == values[:-1])
        if not same.any():
            break
        still = np.concatenate(([False], same)) | np.concatenate((same, [False]))
        places, groups = places[still], np.cumsum(np.concatenate(([True], ~same)))[still]
    return order


def starts_of(rows: Rows, fields: Sequence[str]) -> IntArray:
    """Return the index at which each group of rows with equal fields begins. The rows are sorted by these fields."""
    if not len(rows):
        return np.zeros(0, np.int64)
    differs = np.zeros(len(rows) - 1, np.bool_)
    for name in fields:
        differs |= rows[name][1:] != rows[name][:-1]
    return np.concatenate(([0], np.flatnonzero(differs) + 1))


def total(*pieces: Rows) -> Rows:
    """Return the sum of pieces: sorted rows whose signs do not add up to 0."""
    rows = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
    fields = identity(rows.dtype)
    order = sort_order(rows, fields)
    if (order[1:] < order[:-1]).any():
        rows = rows.take(order)
    starts = starts_of(rows, fields)
    if len(starts) == len(rows):
        there = rows[SIGN] != 0
        return rows if there.all() else rows[there]
    signs = np.add.reduceat(rows[SIGN].astype(np.int64), starts)
    there = signs != 0
    summed: Rows = rows.take(starts[there])
    summed[SIGN] = signs[there]
    return summed


def negated(rows: Rows) -> Rows:
    """Return the rows with the opposite signs."""
    opposite = rows.copy()
    opposite[SIGN] = -opposite[SIGN]
    return opposite


def difference(after: Rows, before: Rows) -> Rows:
    """Return the change that leads from one table to another."""
    return total(after, negated(before))
