"""`Recent`: a set of texts that forgets the oldest."""


class Recent:
    """Holds at most `limit` texts, those added last."""

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
            del self._texts[next(iter(self._texts))]

    def turn(self, text: str) -> None:
        """Take it out where it is, add it where it is not."""
        if text in self._texts:
            del self._texts[text]
        else:
            self.add(text)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} of at most {self._limit} recent texts>"
