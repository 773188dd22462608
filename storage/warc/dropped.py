"""`DroppedPage`: what remains of a page that was not archived, as the block of a WARC metadata record.

The block is `application/warc-fields` (WARC/1.1, section 6.6): a `reason`, the facts of the answer, and an `outlink`
line, as Heritrix writes them, for each link that was followed. A reader learns why the page is missing, and a crawl can
settle the page's lease as if it had been archived.
"""

import re
from dataclasses import dataclass
from typing import cast, get_args

from thresher.core import InputError
from thresher.core.capture import Truncation

DROPPED = "dropped"
"""Type of such a record among others that are read back (`storage.warc.records`)."""
WARC_FIELDS = "application/warc-fields"
REASON = re.compile(r"[a-z][a-z0-9_]{0,39}")
COUNT = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedPage:
    """One page that was fetched and not archived. Raise `InputError` if `reason` is no reason code."""

    reason: str
    """Reason code: lower-case letters, digits, underscores."""
    status: int
    mime: str
    length: int
    """Bytes of the entity, decoded as that of an archived page is when it is read."""
    digest: str
    """Payload digest, as an archived response would have it."""
    truncated: Truncation | None
    retry_after: str | None
    """Value of the header, if there was one."""
    outlinks: tuple[str, ...]

    def __post_init__(self) -> None:
        if not REASON.fullmatch(self.reason):
            raise InputError(
                f"{self.reason!r} is no reason code: use lower-case letters, digits and underscores"
            )


def encode(dropped: DroppedPage) -> bytes:
    """Return the block."""
    lines = [
        ("reason", dropped.reason),
        ("status", str(dropped.status)),
        ("mime", dropped.mime),
        ("length", str(dropped.length)),
        ("payload-digest", dropped.digest),
        *([("truncated", dropped.truncated)] if dropped.truncated else []),
        *([("retry-after", " ".join(dropped.retry_after.split()))] if dropped.retry_after else []),
        *(("outlink", link) for link in dropped.outlinks),
    ]
    return "".join(f"{name}: {value}\r\n" for name, value in lines).encode()


def decode(block: bytes) -> DroppedPage | None:
    """Return what `encode` made a block of; None for any other block."""
    if not block.startswith(b"reason: "):
        return None
    facts: dict[str, str] = {}
    outlinks: list[str] = []
    for line in block.decode(errors="replace").split("\r\n")[:-1]:
        name, _, value = line.partition(": ")
        if name == "outlink":
            outlinks.append(value)
        else:
            facts[name] = value
    truncated = facts.get("truncated")
    counts = [facts.get(name, "") for name in ("status", "length")]
    if (
        not REASON.fullmatch(facts.get("reason", ""))
        or not all(map(COUNT.fullmatch, counts))
        or not {"mime", "payload-digest"} <= facts.keys()
        or truncated not in (None, *get_args(Truncation))
    ):
        return None
    status, length = map(int, counts)
    return DroppedPage(
        reason=facts["reason"],
        status=status,
        mime=facts["mime"],
        length=length,
        digest=facts["payload-digest"],
        truncated=cast("Truncation | None", truncated),
        retry_after=facts.get("retry-after"),
        outlinks=tuple(outlinks),
    )
