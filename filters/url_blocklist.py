"""`UrlBlocklist`: a list of domains and URL prefixes whose pages are not wanted.

1. A line is a domain, which blocks it and everything under it (`example.org`), or a URL prefix without a query
   (`example.org/forum/`).
2. Common formats of such lists are read too: `||example.org^` (Adblock), `0.0.0.0 example.org` (hosts file),
   `https://example.org/`. Text after `#` and lines that begin with `!` or `[` are comments. Adblock rules that do not
   cover a whole domain are skipped.
3. A look-up takes as many steps as the URL has labels and folders, however long the list is.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from thresher.core.url import split_url

_HOSTS = re.compile(r"(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S+)")
_ADBLOCK = re.compile(r"\|\|([\w.-]+)\^(?:\$(?:all|document|third-party|important))?")
_ENTRY = re.compile(r"(?:https?://)?([\w.-]+)(?::\d+)?(/\S*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlBlocklist:
    """Blocked domains and URL prefixes."""

    domains: frozenset[str]
    prefixes: frozenset[str]
    """`host/folder/...`, without scheme and in lower case."""

    def blocks(self, url: str) -> bool:
        """Return whether the list blocks `url`."""
        parts = split_url(url)
        host = parts.host.rstrip(".")
        labels = host.split(".")
        if any(".".join(labels[first:]) in self.domains for first in range(len(labels))):
            return True
        if not self.prefixes:
            return False
        path = parts.path.lower()  # the list is in lower case
        address = f"{host}{path}"
        folder_ends = [len(host) + slash.end() for slash in re.finditer("/", path)]
        return address in self.prefixes or any(address[:end] in self.prefixes for end in folder_ends)


def parse_blocklist(lines: Iterable[str]) -> UrlBlocklist:
    """Return the blocklist of `lines`. Raise `ValueError` with the number of the first line that is not valid."""
    domains, prefixes = set[str](), set[str]()
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip().lower()
        if not text or text[0] in "![" or text.startswith("@@"):
            continue
        if adblock := _ADBLOCK.fullmatch(text):
            domains.add(adblock[1].rstrip("."))
            continue
        if any(mark in text for mark in "|^$*"):
            continue
        hosts = _HOSTS.fullmatch(text)
        entry = _ENTRY.fullmatch(hosts[1] if hosts else text)
        if entry is None or ("." not in entry[1] and not hosts):
            raise ValueError(f"line {number}: {line.strip()[:80]!r} is neither a domain nor a URL prefix")
        host = entry[1].strip(".")
        if entry[2] and entry[2] != "/":
            prefixes.add(f"{host}{entry[2].partition('?')[0]}")
        else:
            domains.add(host)
    return UrlBlocklist(domains=frozenset(domains), prefixes=frozenset(prefixes))
