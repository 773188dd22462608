"""`RecentSet`: a bounded set of texts that evicts the oldest.

It evicts many at once. A dict keeps the places of deleted entries, so after many deletions it takes long to find its
first entry.
"""

from itertools import islice

EVICTION_SHARE = 8
"""An eighth of the limit is evicted at once."""


class RecentSet:
    """Holds at most `limit` texts, and always the last seven eighths of `limit` that were added."""

    __slots__ = ("_limit", "_texts")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts: dict[str, None] = {}

    def __contains__(self, text: object) -> bool:
        return text in self._texts

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Add a text, or make it the newest if it is there."""
        self._texts.pop(text, None)
        self._texts[text] = None
        if len(self._texts) > self._limit:
            for old in list(islice(self._texts, 1 + self._limit // EVICTION_SHARE)):
                del self._texts[old]

    def clear(self) -> None:
        """Remove all texts."""
        self._texts.clear()

    def toggle(self, text: str) -> None:
        """Remove a text if it is there, otherwise add it."""
        if text in self._texts:
            del self._texts[text]
        else:
            self.add(text)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} of at most {self._limit} recent texts>"
