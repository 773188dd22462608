"""`Addresses`: a list of domains and addresses of which nothing is wanted.

1. A line is a domain (itself and everything under it), or an address without its query: `example.org`, `example.org/forum/` (all that begins so).
2. The forms in which such lists are passed around are read as well: `||example.org^` (Adblock), `0.0.0.0 example.org` (hosts), `https://example.org/`.
   What stands behind `#`, and lines that begin with `!` or `[`, say nothing. Rules of Adblock that are not of whole domains are passed over.
3. Looking up an address takes as many steps as it has labels and folders, however long the list is.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOSTS = re.compile(r"(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S+)")
_ADBLOCK = re.compile(r"\|\|([\w.-]+)\^(?:\$(?:all|document|third-party|important))?")
_ENTRY = re.compile(r"(?:https?://)?([\w.-]+)(?::\d+)?(/\S*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlBlocklist:
    """What is refused."""

    domains: frozenset[str]
    prefixes: frozenset[str]
    """`host/folder/...` without scheme."""

    def blocks(self, url: str) -> bool:
        """Whether an address is on the list."""
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").rstrip(".")
        except ValueError:
            return False
        labels = host.split(".")
        if any(".".join(labels[first:]) in self.domains for first in range(len(labels))):
            return True
        if not self.prefixes:
            return False
        path = parts.path.lower()  # as the list is
        at = f"{host}{path}"
        ends = [len(host) + found.end() for found in re.finditer("/", path)]
        return at in self.prefixes or any(at[:end] in self.prefixes for end in ends)


def parse_blocklist(lines: Iterable[str]) -> UrlBlocklist:
    """The list of some lines. Raises `ValueError` naming the first line that is none, by its number."""
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
            raise ValueError(f"line {number}: {line.strip()[:80]!r} is no domain and no address")
        host = entry[1].strip(".")
        if entry[2] and entry[2] != "/":
            prefixes.add(f"{host}{entry[2].partition('?')[0]}")
        else:
            domains.add(host)
    return UrlBlocklist(domains=frozenset(domains), prefixes=frozenset(prefixes))
