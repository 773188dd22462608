"""The novelty rule: a site that says new things is crawled on; of a site that repeats itself, 1 URL in 64 is crawled.
Pure.

This is the reference that `lua/` follows. It judges at three levels, each with one byte, its standing: the template of
a host (`frontier.urls.template`), the host, and its registered domain.

1. A registered domain remembers what its last pages said: a ring of up to 120 sketches, 16 bits of each, the latest at
   the end (`update_ring`). A page says something new when its sketch is not in the ring. A sketch that occurs again
   moves to the end, so that honest pages between do not push out the one text of a trap.
2. A page that says something new earns 9, another costs 1 (`update_standing`): credit grows if more than 1 page in 10
   is new, and falls if fewer are. It stays between 0 and the level's maximum. This is a cumulative sum (Page,
   "Continuous inspection schemes", Biometrika 1954): the quickest test of its kind, and one byte where a window needs
   many.
3. At 0 the level is starved, until its credit is `RECOVERY_CREDIT` again: two new pages in close succession.
4. A page that says nothing new and leads nowhere (it has no unknown URL) costs its template nothing: pages that do not
   lead on are not endless. (Manuals have thousands of pages of a name and a number.) The page costs its host and
   domain, unless the template has proven itself: a parked domain, all of whose pages are such, is starved all the same.
5. A starved host starves only those of its templates that have not proven themselves. A starved domain starves neither
   such templates nor such hosts (`starved_level`): honest parts beside a trap go on.
6. A page that was listed, as a seed or in a sitemap, costs nothing at any level, and is let in whatever is starved,
   because lists end.
7. Of the starved URLs, 1 in 64 is let in, chosen by a hash of the URL and so the same each time it is found.

A page without a sketch (no HTML, no success) says nothing either way and changes nothing.
"""

from dataclasses import dataclass
from typing import Literal

RING = 120
"""Sketches remembered. Two that differ are taken for one with a chance of 120 / 65,536."""
WIDTH = 2
"""Bytes kept of a sketch, its lowest: 240 bytes in all."""
EARNED = 9
"""Credit that a new page earns; another page costs 1. Credit falls if fewer than 1 page in 10 is new."""
RECOVERY_CREDIT = 16
STARVED = 128
"""The bit of a standing that marks it as starved; the others are credit."""
TRICKLE = 64
"""One starved URL in this many is let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyLevel:
    """The credit of a level at first, at most, and once it is proven."""

    initial: int
    maximum: int
    proven: int


TEMPLATE = NoveltyLevel(initial=64, maximum=96, proven=88)
"""64 pages that all say the same starve a template, or 96 if it was honest before: it is recognised within some 100
fetches.
"""
HOST = NoveltyLevel(initial=80, maximum=120, proven=112)
DOMAIN = NoveltyLevel(initial=96, maximum=127, proven=127)


def update_ring(ring: bytes, sketch: int) -> tuple[bytes, bool]:
    """Return the ring after a page with that sketch, and whether the page said something new."""
    kept = (sketch & 0xFFFF).to_bytes(WIDTH, "big")
    at = _find(ring, kept)
    if at < 0:
        return ring[-(RING - 1) * WIDTH :] + kept, True
    return ring[:at] + ring[at + WIDTH :] + kept, False


def update_standings(
    template: int, host: int, domain: int, *, new: bool, leads_on: bool, listed: bool = False
) -> tuple[int, int, int]:
    """Return the standings of a template, its host and its registered domain after one more page."""
    counts = not listed and (leads_on or template & ~STARVED < TEMPLATE.proven)
    return (
        update_standing(TEMPLATE, template, new=new, counts=leads_on and not listed),
        update_standing(HOST, host, new=new, counts=counts),
        update_standing(DOMAIN, domain, new=new, counts=counts),
    )


def update_standing(level: NoveltyLevel, standing: int, *, new: bool, counts: bool = True) -> int:
    """Return the standing of a level after one more of its pages; a page that says nothing new counts only with
    `counts`. A standing begins with `level.initial`.
    """
    starved, credit = standing & STARVED, standing & ~STARVED
    if new:
        credit = min(credit + EARNED, level.maximum)
    elif counts:
        credit = max(credit - 1, 0)
    if credit == 0:
        starved = STARVED
    elif credit >= RECOVERY_CREDIT:
        starved = 0
    return starved | credit


def starved_level(template: int, host: int, domain: int) -> Literal["template", "host", "domain"] | None:
    """Return the level that starves a URL, given the standings of its template, its host and its registered domain;
    None if it is not starved.
    """
    if template & STARVED:
        return "template"
    if template >= TEMPLATE.proven:
        return None
    if host & STARVED:
        return "host"
    return "domain" if domain & STARVED and host < HOST.proven else None


def is_let_through(number: int) -> bool:
    """Return whether the URL with that number (any hash of its text) is let in although it is starved."""
    return number % TRICKLE == 0


def _find(ring: bytes, kept: bytes) -> int:
    at = ring.find(kept)
    while at > 0 and at % WIDTH:
        at = ring.find(kept, at + 1)
    return at
