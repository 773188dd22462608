"""`Rotation`: when an open archive file is sealed. Pure.

If nobody follows the crawl, a file is sealed when it is full or old. If the crawl is followed, a file is sealed sooner,
because only sealed files can be processed. While the follower holds the gate shut, a file is sealed after
`SHUT_AGE_MS`: it grows no more, and the gate stays shut until the follower has seen it.
"""

from dataclasses import dataclass

from thresher.frontier import GateState

FOLLOWED_BYTES = 64 << 20
FOLLOWED_AGE_MS = 60_000
"""Bytes and age at which a file of a followed crawl is sealed."""
LIMIT_SHARE = 8
"""A file of a followed crawl holds at most an eighth of the backlog that the follower allows."""
SHUT_AGE_MS = 3_000
"""Age at which a file is sealed while the gate is shut. Exchanges in flight when the gate shuts still go into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """The limits of a file if nobody follows the crawl."""

    max_bytes: int
    max_age_ms: int

    def is_due(self, *, size: int, age_ms: int, gate_state: GateState | None) -> bool:
        """Return whether a file of `size` bytes and this age must be sealed; `gate_state` is None if
        nobody follows the crawl.
        """
        if gate_state is None:
            return size >= self.max_bytes or age_ms >= self.max_age_ms
        if gate_state.shut and age_ms >= SHUT_AGE_MS:
            return True
        # The backlog does not count the bytes of open files, so they must be a small part of what the follower allows.
        max_bytes = min(self.max_bytes, FOLLOWED_BYTES, max(gate_state.limit // LIMIT_SHARE, 1))
        return size >= max_bytes or age_ms >= min(self.max_age_ms, FOLLOWED_AGE_MS)
