"""The novelty rule: who says new things is asked on, who repeats itself is asked 1 time in 64. Pure.

This is the reference that `thresher.lua` follows. It judges at three levels, each with one number, its credit:
the template of a host (`frontier.template`), the host, and its registered domain.

1. A registered domain remembers what its last pages said: a ring of up to 120 sketches, 16 bits of each, the one
   heard last at the end (`heard`). A page says something new when its sketch is not in the ring. What is heard again
   moves to the end, so that the one text of a trap is not pushed out by honest pages between.
2. A page that says something new earns 9, another costs 1 (`after`): credit grows where more than 1 page in 10 is
   new and falls where fewer are. It stays between 0 and the level's most. This is a cumulative sum (Page, "Continuous
   inspection schemes", 1954), which needs one byte where a window needs many and is the quickest test of its kind.
3. At 0 the level is starved; it stays starved until its credit is `RECOVERED` again, which takes two new pages in close
   succession. A level's first credit is spent by as many pages that all say the same.
4. A starved host starves only those of its templates that have not proven themselves (`proven`), and a starved domain
   only those of its hosts: what is honest beside a trap goes on.
5. Of what is starved, 1 URL in 64 is let in, chosen by the URL's own number and so the same each time it is found.

A page without a sketch (no HTML, no answer) says nothing either way and changes nothing.
"""

from dataclasses import dataclass

RING = 120
"""Sketches remembered: with 2 bytes each, 240 bytes. Two that differ are taken for one with a chance of 120 / 65,536."""
WIDTH = 2
"""Bytes kept of a sketch: its lowest."""
EARNED = 9
"""What a new page earns; another costs 1: below 1 new page in 10 credit falls."""
RECOVERED = 16
STARVED_BIT = 128
"""A standing is one byte: credit, and this bit while starved."""
TRICKLE = 64
"""Of what is starved, one URL in so many is let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What credit a level begins with, has at most, and has once it is proven."""

    first: int
    most: int
    proven: int


TEMPLATE = Level(first=64, most=96, proven=88)
HOST = Level(first=80, most=120, proven=112)
DOMAIN = Level(first=96, most=127, proven=127)


def heard(ring: bytes, sketch: int) -> tuple[bytes, bool]:
    """The ring after a page of that sketch, and whether the page said something new."""
    kept = (sketch & 0xFFFF).to_bytes(WIDTH, "big")
    at = _find(ring, kept)
    if at < 0:
        return ring[-(RING - 1) * WIDTH :] + kept, True
    return ring[:at] + ring[at + WIDTH :] + kept, False


def after(level: Level, standing: int, *, new: bool) -> int:
    """The standing of a level after one more of its pages. It begins with `level.first`."""
    starved, credit = standing & STARVED_BIT, standing & ~STARVED_BIT
    credit = min(credit + EARNED, level.most) if new else max(credit - 1, 0)
    if credit == 0:
        starved = STARVED_BIT
    elif credit >= RECOVERED:
        starved = 0
    return starved | credit


def starves(template: int, host: int, domain: int) -> str | None:
    """The level that starves a URL, of the standings of its template, its host and its registered domain."""
    if template & STARVED_BIT:
        return "template"
    if host & STARVED_BIT and template < TEMPLATE.proven:
        return "host"
    if domain & STARVED_BIT and template < TEMPLATE.proven and not HOST.proven <= host < STARVED_BIT:
        return "domain"
    return None


def trickles(number: int) -> bool:
    """Whether the URL of that number (any hash of its text) is let in although it is starved."""
    return number % TRICKLE == 0


def _find(ring: bytes, kept: bytes) -> int:
    at = ring.find(kept)
    while at % WIDTH and at >= 0:
        at = ring.find(kept, at + 1)
    return at
