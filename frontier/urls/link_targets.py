"""`link_targets`: where the links of a page lead, each target once, in the order of the page. Pure.

1. `frontier.urls.canonical` makes the URL of a link. A link to no URL that is crawled is left out, and so is one that
   looks like a trap (`frontier.urls.trap`) on a host where traps are looked for.
2. Most links are a plain path below a folder or a host that other links share. Then only the folder is canonicalized,
   once, and the path is appended. The result is the same (a property test holds that), at a fifth of the cost.
3. The same navigation is on every page of a folder, so the targets of links are cached.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from thresher.core import Url
from thresher.frontier.policy import ON, HostSwitch
from thresher.frontier.urls.canonical import MAX_LENGTH, InvalidUrl, canonicalize
from thresher.frontier.urls.trap import trap_reason

_SHORT = 256
"""Characters of a link that is cached: 65,536 of them take some 30 MB."""
_SEGMENT = "[A-Za-z0-9_~-][A-Za-z0-9._~-]*+"
_PLAIN = re.compile(
    rf"((?:\.\./|)*+|/|https?://[a-z0-9.-]++(?>:[0-9]++|)/)((?:{_SEGMENT}/|)*+(?>{_SEGMENT}|))"
)
"""The start of a path, and a path of characters that canonicalization keeps, without segments such as `..`."""


def link_targets(hrefs: Iterable[str], base: str, traps: HostSwitch = ON) -> list[Url]:
    """Return the targets of links, as written on a page whose links are relative to `base`."""
    folder, page = _bases(base)
    found: dict[str, Url] = {}
    for href in hrefs:
        link = _target_and_trap if len(href) <= _SHORT else _target_and_trap.__wrapped__
        url, is_trap = link(href, page if href[0] == "?" else folder)
        if url is not None and not (is_trap and traps.is_on(url.host)):
            found.setdefault(url.text, url)
    return list(found.values())


def link_target(href: str, folder: str | None = None, traps: HostSwitch = ON) -> Url | None:
    """Return the target of one link. `folder` is the base up to its last slash; for a link that is only a query, the
    whole base.
    """
    url, is_trap = _target_and_trap(href, folder)
    return None if url is None or (is_trap and traps.is_on(url.host)) else url


@lru_cache(maxsize=65_536)
def _target_and_trap(href: str, folder: str | None) -> tuple[Url | None, bool]:
    """Return the target of one link, and whether it looks like a trap."""
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
    """Return the URL below which a plain path is: the page's folder, a folder above it, its root, or another host's."""
    try:
        return canonicalize(start or ".", folder)
    except InvalidUrl:
        return None


def _bases(address: str) -> tuple[str | None, str | None]:
    """Return the folder to which links are relative, and the page to which links are relative that are only a query.

    Relative links of a base that is longer than any URL are left out: they would be refused for their length, and each
    would cost as much as the base is long. So are those of a base without a path (`mailto:`).
    """
    base = address.partition("#")[0]
    path = base.partition("?")[0]
    if len(address) > MAX_LENGTH or "/" not in path:
        return None, None
    return path[: path.rindex("/") + 1], base
