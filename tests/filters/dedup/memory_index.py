"""The stages of `filters.dedup.changes` in memory, joined as the product joins them."""

from typing import Any

import numpy as np

from thresher.filters.dedup import changes
from thresher.filters.dedup.dedup_rows import KINDS, RowTypes, converted, locate
from thresher.filters.dedup.zsets import SIGN, Rows, identity, total


class MemoryIndex:
    """The tables in memory. It gives whole tables where the product gives the rows of touched groups."""

    def __init__(self, types: RowTypes, fewest_equal: int, band_rows: Any) -> None:
        self.types, self.fewest_equal, self.band_rows = types, fewest_equal, band_rows
        self.tables = {name: np.empty(0, dtype) for name, dtype in zip(types._fields, types, strict=True)}

    def apply(self, documents: Rows) -> None:
        """Bring documents in (sign 1) or take them out (sign -1)."""
        types = self.types
        known = total(self.tables["documents"], documents[documents[SIGN] > 0])
        self._add("documents", documents)
        texts = total(converted(documents, types.texts))
        exact = changes.change_of_texts(types, self._add("texts", texts), texts)
        urls, stays = changes.with_url(types, exact.best)
        by_url = changes.change_of_urls(types, self._add("urls", urls), urls)
        stays = total(stays, converted(by_url.best, types.stays))
        bands = self.band_rows(types, stays, known[locate(stays, known)])
        members = changes.change_of_members(types, self._add("bands", bands), bands)
        candidates = changes.candidates_of(types, members, known[locate(members, known)])
        matches = changes.change_of_matches(types, candidates, self.fewest_equal)
        near = changes.change_of_removals(types, self._add("matches", matches), matches)
        for change in (exact.removals, by_url.removals, near):
            self._add("removals", change)

    def removals(self) -> list[tuple[int, int, str, int]]:
        """Return the removed documents with their witnesses, kinds and equal numbers."""
        return [
            (_number(row, "id"), _number(row, "witness"), KINDS[row["kind"]], int(row["equal"]))
            for row in self.tables["removals"]
        ]

    def _add(self, name: str, change: Rows) -> Rows:
        """Add a change to a table, and return the rows before of which the change touches the first word."""
        table, key = self.tables[name], identity(change.dtype)[0]
        touched = table[np.isin(table[key], change[key])]
        self.tables[name] = total(table, change)
        return touched


def _number(row: Any, name: str) -> int:
    return int(row[f"{name}_hi"]) << 64 | int(row[f"{name}_lo"])
