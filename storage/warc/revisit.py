"""`Revisit`: says that an exchange brought nothing new, and which record had the payload before (WARC/1.1, section
6.7).

The block of a revisit record is the head of the answer. Its payload is that of the record it refers to. That record
must be durable: if it were lost, both pages would be lost.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from thresher.core import InputError

Profile = Literal["identical-payload-digest", "server-not-modified"]

PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
RECORD_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-;=?-~]+")
REVISIT = "revisit"
REVISIT_MIME = "warc/revisit"
"""The type of such a record in an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisit:
    """The record whose payload an exchange had again. Raise `InputError` for values that name no record."""

    profile: Profile
    """Whether the payload was the same, or the server said that it was (304)."""
    refers_to: str
    """Its WARC-Record-ID, without angle brackets; empty if an archive of others does not name it."""
    uri: str
    """Its WARC-Target-URI."""
    date_ms: int
    """Its WARC-Date, milliseconds since the epoch, UTC."""
    digest: str = ""
    """Its payload digest, if that is known."""
    sha256: str = ""
    """The SHA-256 of its payload, if that is known: only this says that two payloads are the same."""
    file: str = ""
    """The archive file with that record, by its name in the storage, if another crawl wrote it."""

    def __post_init__(self) -> None:
        if self.profile not in get_args(Profile):
            raise InputError(
                f"{self.profile!r} is no profile of a revisit: give {' or '.join(get_args(Profile))}"
            )
        if self.refers_to and not RECORD_URI.fullmatch(self.refers_to):
            raise InputError(f"{self.refers_to!r} is no record id: a revisit refers to urn:uuid:...")


def profile_of(uri: str) -> Profile | None:
    """Return the profile that a WARC-Profile names, in any version of the standard or of the drafts before it; a draft
    had a profile of its own for a payload of another URL (`uri-agnostic-`).
    """
    name = uri.rpartition("/revisit/")[2].removeprefix("uri-agnostic-")
    return cast("Profile", name) if name in get_args(Profile) else None
