"""Tell pairs of documents that share nothing but the text of their site, by exact shingles. Pure.

This is the audit's own rule, and takes nothing from `filters.dedup.site_text`. It looks at the documents of one host
that resemble either of the two. A pair shares the text of its site only if there is at least one such document besides,
if each of the two has shingles that no other of these documents has, and if the shingles that only the two share are
fewer than those in which they differ.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thresher.core.url import split_url

Pair = tuple[str, str]
MIN_OWN = 0.02
"""Share of the longer document's shingles that no other document has."""
MAX_OTHERS = 50
"""Other documents that a pair is compared with: the first by id."""


class PageText(Protocol):
    """A document of the sample."""

    @property
    def url(self) -> str:
        """Its URL; empty if there is none."""
        ...

    @property
    def shingles(self) -> npt.NDArray[np.uint64]:
        """Hashes of its shingles, sorted, each once."""
        ...


def site_text_pairs(
    texts: Mapping[str, PageText], similar: Sequence[Pair], asked: Sequence[Pair]
) -> set[Pair]:
    """Return those of the `asked` pairs that share the text of their site only. `similar` has all similar pairs."""
    partners = defaultdict[str, set[str]](set)
    for one, other in similar:
        partners[one].add(other)
        partners[other].add(one)
    return {pair for pair in asked if _share_site_text(texts, partners, *pair)}


def _share_site_text(
    texts: Mapping[str, PageText], partners: Mapping[str, set[str]], one: str, other: str
) -> bool:
    host = _host(texts[one].url)
    if not host or host != _host(texts[other].url):
        return False
    near = (partners[one] | partners[other]) - {one, other}
    pages = [texts[id_].shingles for id_ in sorted(near) if _host(texts[id_].url) == host][:MAX_OTHERS]
    if not pages:
        return False
    of_site = np.concatenate(pages)
    own, others_own = (np.setdiff1d(texts[id_].shingles, of_site) for id_ in (one, other))
    shared = len(np.intersect1d(own, others_own, assume_unique=True))
    only_one, only_other = len(own) - shared, len(others_own) - shared
    fewest = MIN_OWN * max(len(texts[one].shingles), len(texts[other].shingles))
    return min(only_one, only_other) >= fewest and shared < only_one + only_other


def _host(url: str) -> str:
    parts = split_url(url)
    return parts.authority.lower() if parts.scheme in {"http", "https"} else ""
