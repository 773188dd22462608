"""`link_targets`: where the links of a page lead, each once, in its order. Pure.

1. `frontier.urls.canonical` says what a link stands for. What is no URL that is crawled, or one that a trap would make
   (`frontier.urls.trap`) on a host where traps are looked for, is left out.
2. Most links are a plain path, below a folder or a host that other links are below as well: then that alone is asked
   for, once, and the path is set behind it. The result is the same (a property test holds that), at a fifth of the
   cost.
3. The same navigation stands on every page of a folder: what a link came to is remembered.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from core import Url
from frontier import HostSwitch, InvalidUrl, canonicalize
from frontier.policy import ON
from frontier.urls.canonical import MAX_LENGTH
from frontier.urls.trap import trap_reason

_SHORT = 256
"""Characters of a link that is remembered: 65,536 take some 30 MB."""
_SEGMENT = "[A-Za-z0-9_~-][A-Za-z0-9._~-]*+"
_PLAIN = re.compile(
    rf"((?:\.\./)*+|/|https?://[a-z0-9.-]++(?::[0-9]++)?+/)((?:{_SEGMENT}/)*+(?:{_SEGMENT})?+)"
)
"""Where a path begins; and a path of characters that no form of a URL changes, and of no segment that leads
elsewhere."""


def link_targets(hrefs: Iterable[str], base: str, traps: HostSwitch = ON) -> list[Url]:
    """What links written so lead to, on a page whose links are relative to `base`."""
    folder, page = _bases(base)
    found: dict[str, Url] = {}
    for href in hrefs:
        link = _target_and_trap if len(href) <= _SHORT else _target_and_trap.__wrapped__
        url, is_trap = link(href, page if href[0] == "?" else folder)
        if url is not None and not (is_trap and traps.is_on(url.host)):
            found.setdefault(url.text, url)
    return list(found.values())


def link_target(href: str, folder: str | None = None, traps: HostSwitch = ON) -> Url | None:
    """What one link leads to; `folder` is an address up to its last slash, or the whole of it where the link is a
    query.
    """
    url, is_trap = _target_and_trap(href, folder)
    return None if url is None or (is_trap and traps.is_on(url.host)) else url


@lru_cache(maxsize=65_536)
def _target_and_trap(href: str, folder: str | None) -> tuple[Url | None, bool]:
    """What one link leads to, and whether that looks like a trap's."""
    url = _resolved(href, folder)
    return url, url is not None and trap_reason(url) is not None


def _resolved(href: str, folder: str | None) -> Url | None:
    plain = _PLAIN.fullmatch(href)
    if plain is None:
        try:
            return canonicalize(href, folder)
        except InvalidUrl:
            return None
    start, path = plain.groups()
    at = _prefix_url(start, None if start[:1] == "h" else folder)
    if at is None or len(at.wire) + len(path) > MAX_LENGTH or len(at.text) + len(path) > MAX_LENGTH:
        return None
    text = at.text + path
    wire = text if at.wire == at.text else at.wire + path
    return Url(text=text, wire=wire, host=at.host, origin=at.origin)


@lru_cache(maxsize=4_096)
def _prefix_url(start: str, folder: str | None) -> Url | None:
    """What a plain path is below: the page's own folder, one some steps up, the root, or that of another host."""
    try:
        return canonicalize(start or ".", folder)
    except InvalidUrl:
        return None


def _bases(address: str) -> tuple[str | None, str | None]:
    """What links are relative to, but for those that are a query alone; and what these are.

    A base longer than any URL has no relative links: they would be refused for their length, each at the cost of it.
    Nor has one without a path (`mailto:`).
    """
    base = address.partition("#")[0]
    path = base.partition("?")[0]
    if len(address) > MAX_LENGTH or "/" not in path:
        return None, None
    return path[: path.rindex("/") + 1], base
