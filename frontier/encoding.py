"""The text that a URL is stored as, and the name that it is known by.

A record is ten tab-separated fields; the first is the version of the format:

    1  attempt  expiries  depth  priority  max_depth  hops  scope  text  wire

`max_depth` without end, and a `wire` equal to `text`, are `-`. No field can hold a tab: WHATWG URLs have no
control characters. `thresher.lua` reads and rewrites `attempt` and `expiries`, and reads depth, priority
and text; the two must be changed together.
"""

import base64
import hashlib
from dataclasses import dataclass

from core import CorruptData, InputError, Url
from frontier.canonical import known
from frontier.lease import Discovery
from frontier.scope import Scope

VERSION = "1"

_NONE = "-"
_FIELDS = 10
_DIGEST_BYTES = 15  # 120 bits: a collision within 10^12 URLs has odds of 10^-12; no padding in base 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record read back."""

    discovery: Discovery
    attempt: int
    expiries: int


def identity(url: Url) -> bytes:
    """Name of a URL inside a crawl: 20 ASCII characters of a BLAKE2b hash of its canonical text."""
    digest = hashlib.blake2b(url.text.encode(), digest_size=_DIGEST_BYTES).digest()
    return base64.urlsafe_b64encode(digest)


def encode(discovery: Discovery) -> bytes:
    """Return the record of a URL that was never tried."""
    url = discovery.url
    return "\t".join(
        (
            VERSION,
            "0",
            "0",
            str(discovery.depth),
            str(discovery.priority),
            _NONE if discovery.max_depth is None else str(discovery.max_depth),
            str(discovery.hops),
            str(discovery.scope),
            url.text,
            _NONE if url.wire == url.text else url.wire,
        )
    ).encode()


def decode(record: bytes) -> Stored:
    """Return what `record` says; `CorruptData` where it is not a whole record of a version known here."""
    fields = record.decode("utf-8", "replace").split("\t")
    if fields[0] != VERSION or len(fields) != _FIELDS:
        raise CorruptData(
            f"frontier: a URL record is not of version {VERSION}: {record[:80]!r}; it was written by another release"
        )
    _, attempt, expiries, depth, priority, max_depth, hops, scope, text, wire = fields
    try:
        discovery = Discovery(
            url=known(text, text if wire == _NONE else wire),
            scope=Scope.parse(scope),
            depth=int(depth),
            priority=int(priority),
            max_depth=None if max_depth == _NONE else int(max_depth),
            hops=int(hops),
        )
        return Stored(discovery=discovery, attempt=int(attempt), expiries=int(expiries))
    except (InputError, ValueError) as error:
        raise CorruptData(f"frontier: a URL record cannot be read: {record[:80]!r}; seed it again") from error
