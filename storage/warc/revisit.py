"""`Revisit`: that an exchange brought nothing new, and which record had it before (WARC/1.1, section 6.7).

The block of a revisit record is the head of what was answered. Its payload is that of the record it refers to, which
must be durable: who refers to what may yet be lost makes two losses of one.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from core import InputError

Profile = Literal["identical-payload-digest", "server-not-modified"]

PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
RECORD_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-;=?-~]+")
REVISIT = "revisit"
REVISIT_MIME = "warc/revisit"
"""What an index calls the type of such a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisit:
    """The record that an exchange came to again. Raise `InputError` for what names none."""

    profile: Profile
    """Whether the payload was the same, or the server said that it was (304)."""
    refers_to: str
    """Its WARC-Record-ID, without angle brackets; empty if an archive of others does not say."""
    uri: str
    """Its WARC-Target-URI."""
    date_ms: int
    """Its WARC-Date, milliseconds since the epoch, UTC."""
    digest: str = ""
    """Its payload digest, where that is known."""
    sha256: str = ""
    """The SHA-256 of its payload, where that is known: only this says that two payloads are the same."""

    def __post_init__(self) -> None:
        if self.profile not in get_args(Profile):
            raise InputError(
                f"{self.profile!r} is no profile of a revisit: give {' or '.join(get_args(Profile))}"
            )
        if self.refers_to and not RECORD_URI.fullmatch(self.refers_to):
            raise InputError(f"{self.refers_to!r} is no record id: a revisit refers to urn:uuid:...")


def profile_of(uri: str) -> Profile | None:
    """The profile that a WARC-Profile names, in any version of the standard, or before it was one: that a payload may be
    of another URL was said apart once.
    """
    name = uri.rpartition("/revisit/")[2].removeprefix("uri-agnostic-")
    return cast("Profile", name) if name in get_args(Profile) else None
