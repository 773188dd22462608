"""`Recent`: a set of texts that forgets the oldest.

It forgets many at once: a dict whose first entries were deleted one by one is walked from its beginning for each.
"""

from itertools import islice

EVICTION_SHARE = 8
"""The part that is forgotten at once: an eighth."""


class RecentSet:
    """Holds at most `limit` texts, and seven eighths of so many of those added last."""

    __slots__ = ("_limit", "_texts")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts: dict[str, None] = {}

    def __contains__(self, text: object) -> bool:
        return text in self._texts

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: str) -> None:
        """Add it, or make it the newest."""
        self._texts.pop(text, None)
        self._texts[text] = None
        if len(self._texts) > self._limit:
            for old in list(islice(self._texts, 1 + self._limit // EVICTION_SHARE)):
                del self._texts[old]

    def clear(self) -> None:
        """Take all of them out."""
        self._texts.clear()

    def toggle(self, text: str) -> None:
        """Take it out where it is, add it where it is not."""
        if text in self._texts:
            del self._texts[text]
        else:
            self.add(text)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} of at most {self._limit} recent texts>"
