"""`Url`: one canonical absolute URL and the keys derived from it; and the parts of any other URL, as it is written.

`urllib.parse` changes in patch releases: which brackets and blanks it refuses, and what it keeps of empty parts. What
is stored of a URL must not depend on that, so `split_url` and `join_url` are used instead (RFC 3986, sections 3 and
5.2). They never raise.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from thresher.core.surt import surt

_PARTS = re.compile(
    r"(?:([a-zA-Z][a-zA-Z0-9+.-]*+):)?(?://([^/?#]*+))?([^?#]*+)(?:\?([^#]*+))?(?:#(.*+))?", re.DOTALL
)
_BRACKETS = re.compile(r"\[([0-9a-fA-F:.]++)\](?::[0-9]*+)?")
_IGNORED = re.compile("[\t\n\r]")
_BLANKS = "".join(map(chr, range(0x21)))
_HIERARCHICAL = frozenset({"http", "https", "ftp", "file", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """One http or https URL.

    Two URLs with equal `text` are the same page; the frontier takes some others for one page too (`frontier.page_key`).
    `wire` is the form that goes into the request, as the page with the link wrote it (after WHATWG parsing, without
    fragment): a server may tell apart forms that the canonical form folds together.
    """

    text: str
    """Canonical form, without fragment and credentials."""
    wire: str
    """Form to request; equal to `text` unless the canonical form folds something."""
    host: str
    """Host name without port, in lower case; delays are kept by it."""
    origin: str
    """`scheme://host[:port]`: the authority for which one robots.txt holds (RFC 9309, section 2.3)."""

    @property
    def surt(self) -> str:
        """Key of its records in CDXJ indexes, `com,example)/path?query` (`core.surt`)."""
        return surt(self.wire)

    def __str__(self) -> str:
        return self.text


class UrlParts(NamedTuple):
    """The parts of a URL, without the characters that begin or end them."""

    scheme: str
    """In lower case."""
    authority: str
    path: str
    query: str
    fragment: str

    @property
    def host(self) -> str:
        """The host in lower case, without user, port and brackets; empty if brackets hold anything but an address."""
        place = self.authority.rpartition("@")[2]
        if "[" in self.authority or "]" in self.authority:
            found = _BRACKETS.fullmatch(place)
            return found[1].lower() if found else ""
        return place.partition(":")[0].lower()

    def joined(self) -> str:
        """Return the URL. It has no empty query and no empty fragment."""
        path = self.path
        if self.authority and path and path[0] != "/":
            path = f"/{path}"
        start = f"{self.scheme}:" if self.scheme else ""
        start += f"//{self.authority}" if self.authority else ""
        return f"{start}{path}{self.query and f'?{self.query}'}{self.fragment and f'#{self.fragment}'}"


def split_url(url: str) -> UrlParts:
    """Return the parts of a URL. Tabs, line breaks and leading blanks do not count."""
    found = _PARTS.match(_IGNORED.sub("", url.lstrip(_BLANKS)))
    assert found is not None, "every part may be empty"
    scheme, *others = found.groups(default="")
    return UrlParts(scheme.lower(), *others)


def join_url(base: str, reference: str) -> str:
    """Return the URL that a reference in a document at `base` means."""
    if not reference or not base:
        return reference or base
    origin, wanted = split_url(base), split_url(reference)
    scheme = wanted.scheme or origin.scheme
    if scheme != origin.scheme or scheme not in _HIERARCHICAL:
        return reference
    wanted = wanted._replace(scheme=scheme)
    if not wanted.authority:
        wanted = wanted._replace(authority=origin.authority)
        if not wanted.path:
            wanted = wanted._replace(path=origin.path, query=wanted.query or origin.query)
        else:
            wanted = wanted._replace(path=_resolve(origin.path, wanted.path))
    return wanted.joined()


def _resolve(base: str, path: str) -> str:
    """Return a path without `.` and `..`, relative to the path `base`."""
    if path[0] == "/":
        segments = path.split("/")
    else:
        segments = [*base.split("/")[:-1], *path.split("/")]
        segments[1:-1] = filter(None, segments[1:-1])
    resolved: list[str] = []
    for segment in segments:
        if segment == "..":
            resolved[-1:] = []
        elif segment != ".":
            resolved.append(segment)
    if segments[-1] in {".", ".."}:
        resolved.append("")
    return "/".join(resolved) or "/"
