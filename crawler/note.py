"""`Note`: what a crawler writes on a URL for whoever fetches it next (`Discovery.note`). Pure.

The first octet is the version, the second the kind, then come fields in any order: a letter, the number of octets in two
octets, and these. A field that is empty is not there, one that is not known is passed over. What is of another version,
or is no note, says nothing: whoever reads it does as if it were the first to fetch the URL.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from frontier.lease import LONGEST_NOTE

Kind = Literal["page", "sitemap"]

LONGEST_FIELD = 1_024
"""Octets of a text; a longer one is left out, whole: half an ETag is none."""
_VERSION = 1
_KINDS: tuple[Kind, ...] = get_args(Kind)
_TEXTS = {b"e": "etag", b"l": "last_modified", b"g": "digest", b"r": "record_id", b"u": "uri"}
_NUMBERS = {b"v": "level", b"m": "modified_ms", b"d": "date_ms"}
_ERRAND = b"s"
ROOM = LONGEST_NOTE - 5
"""Octets of the longest errand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Whatever is not known is empty or 0."""

    kind: Kind = "page"
    """How its answer is to be read."""
    level: int = 0
    """Of a sitemap: the sitemap indexes on the way to it."""
    modified_ms: int = 0
    """When a sitemap says that the page was last changed; milliseconds since the epoch."""
    etag: str = ""
    """Of the last capture, as are all that follow: header as received."""
    last_modified: str = ""
    digest: str = ""
    """Payload digest."""
    record_id: str = ""
    uri: str = ""
    """Of the capture that the last one was a revisit of, where it had another URL."""
    date_ms: int = 0
    errand: bytes = b""
    """What a user's spider wants done with the answer (`crawler.guest.errand`)."""


EMPTY = Note()


def encode(note: Note) -> bytes:
    """At most `LONGEST_NOTE` octets; none at all for a page of which nothing is known."""
    fields = [(tag, getattr(note, name).encode("utf-8", "replace")) for tag, name in _TEXTS.items()]
    fields += [(tag, _packed(getattr(note, name))) for tag, name in _NUMBERS.items()]
    body = b"".join(
        tag + len(value).to_bytes(2, "big") + value
        for tag, value in fields
        if 0 < len(value) <= LONGEST_FIELD
    )
    if note.errand:
        # Whatever else there is no room for is left out: the spider could do nothing without it.
        errand = _ERRAND + len(note.errand).to_bytes(2, "big") + note.errand
        body = errand + body if len(errand) + len(body) + 2 <= LONGEST_NOTE else errand
    if not body and note.kind == "page":
        return b""
    found = bytes((_VERSION, _KINDS.index(note.kind))) + body
    return found if len(found) <= LONGEST_NOTE else bytes((_VERSION, _KINDS.index(note.kind)))


def decode(written: bytes) -> Note:
    """What `encode` wrote."""
    if len(written) < 2 or written[0] != _VERSION or written[1] >= len(_KINDS):
        return EMPTY
    fields: dict[str, str | int | bytes] = {}
    at = 2
    while at < len(written):
        tag, begin = written[at : at + 1], at + 3
        at = begin + int.from_bytes(written[at + 1 : begin], "big")
        if begin > len(written) or at > len(written):
            return EMPTY
        if tag in _TEXTS:
            fields[_TEXTS[tag]] = written[begin:at].decode("utf-8", "replace")
        elif tag == _ERRAND:
            fields["errand"] = written[begin:at]
        elif tag in _NUMBERS:
            fields[_NUMBERS[tag]] = int.from_bytes(written[begin:at], "big")
    return Note(kind=_KINDS[written[1]], **fields)  # type: ignore[arg-type]


def _packed(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big") if number > 0 else b""
