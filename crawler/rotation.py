"""When an open archive file is sealed although it could take more. Pure.

A file that nobody waits for is sealed when it is full or old. One of a crawl that is followed is sealed sooner,
for what is sealed is what can be processed; and at once where the follower holds the gate shut, for then it would
not grow any more and never be seen.
"""

from dataclasses import dataclass

from frontier import GateState

FOLLOWED_BYTES = 64 << 20
FOLLOWED_AGE_MS = 60_000
PART_OF_LIMIT = 8
SHUT_AGE_MS = 3_000
"""What is in flight when the gate shuts comes into the same file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """What a file may come to while nobody follows the crawl."""

    max_bytes: int
    max_age_ms: int

    def is_due(self, *, size: int, age_ms: int, flow: GateState | None) -> bool:
        """Whether a file of so many bytes, begun so long ago, is to be sealed."""
        if flow is None:
            return size >= self.max_bytes or age_ms >= self.max_age_ms
        if flow.shut and age_ms >= SHUT_AGE_MS:
            return True
        # What lies in open files is not in the estimate: it is to be a small part of what the follower allows.
        most = min(self.max_bytes, FOLLOWED_BYTES, max(flow.limit // PART_OF_LIMIT, 1))
        return size >= most or age_ms >= min(self.max_age_ms, FOLLOWED_AGE_MS)
