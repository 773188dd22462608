"""`compare`: how well the replay of a page agrees with its crawl. Pure.

The score of a page is the lowest of three, each from 0 to 1:

1. Text: the share of words that both have (Dice's coefficient of the words with their counts). If the crawl recorded no
   text, the words of the HTML must all be there; more may be, from scripts.
2. Picture: 1 less five times the share of pixels that differ, so one per cent of them costs .05.
3. Parts: each part that is missing or broken costs .1, and .2 if it is a stylesheet, a script or a frame. A part that
   the crawl got with an error status costs nothing: the archive has what the site had. Images of two pixels cost
   nothing either. If text and picture agree, data and scripts that are missing cost nothing, because no reader misses
   them.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Fate = Literal["found", "error", "missing", "broken"]
"""What the archive has of a part. `error`: an answer with a status of 400 or more, as its crawl had. `broken`: its
bytes are not whole, or no image."""
THRESHOLD = 0.95
"""Score below which a page is not as it was."""
PICTURE_COST = 5.0
COSTS: Mapping[str, float] = {"stylesheet": 0.2, "script": 0.2, "document": 0.2}
OTHER_COST = 0.1
UNSEEN_KINDS = frozenset({"script", "xhr", "fetch", "manifest", "prefetch", "other", "texttrack"})
AGREES_AT = 0.99
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was recorded of a page, and what its replay gave."""

    problem: str
    """Why there is no replay, or not all of it; empty if there is."""
    recorded_text: str
    is_whole_text: bool
    """Whether the recorded text is all that a reader saw; False for that of the HTML alone."""
    replayed_text: str
    differing: float | None
    """Share of pixels; None if the archive has no picture of the page."""
    fates: Mapping[tuple[str, str], Fate]
    tiny: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The scores of a page, and its faults by name."""

    score: float
    text: float
    picture: float | None
    parts: float
    faults: tuple[str, ...]


def compare(seen: Observations) -> Comparison:
    """Return the comparison of a page."""
    text = text_agreement(seen.recorded_text, seen.replayed_text, is_whole=seen.is_whole_text)
    picture = None if seen.differing is None else max(0.0, 1 - PICTURE_COST * seen.differing)
    agrees = text >= AGREES_AT and picture is not None and picture >= AGREES_AT
    lost = [
        kind
        for (kind, url), fate in seen.fates.items()
        if fate in ("missing", "broken") and not (url in seen.tiny or (agrees and kind in UNSEEN_KINDS))
    ]
    parts = max(0.0, 1 - sum(COSTS.get(kind, OTHER_COST) for kind in lost))
    faults = [seen.problem] if seen.problem else []
    if is_blank(seen):
        faults.append("blank")
    if text < THRESHOLD:
        faults.append("text")
    if picture is not None and picture < THRESHOLD:
        faults.append("picture")
    faults += [f"lost_{kind}" for kind in sorted(set(lost))]
    score = 0.0 if seen.problem or is_blank(seen) else min(text, parts, 1.0 if picture is None else picture)
    return Comparison(
        score=round(score, 4),
        text=round(text, 4),
        picture=None if picture is None else round(picture, 4),
        parts=round(parts, 4),
        faults=tuple(faults),
    )


def is_blank(seen: Observations) -> bool:
    """Return whether a page shows no word and no part that could be seen, and no record shows that it was so."""
    has_parts = any(
        fate == "found" and kind in ("image", "media", "document") for (kind, _), fate in seen.fates.items()
    )
    was_so = (seen.differing is not None and seen.differing <= 1 - AGREES_AT) or (
        seen.differing is None and seen.is_whole_text and not WORD.search(seen.recorded_text)
    )
    return not (WORD.search(seen.replayed_text) or has_parts or was_so)


def text_agreement(recorded: str, replayed: str, *, is_whole: bool) -> float:
    """Return how many of the words agree, from 0 to 1; 1 if there are none."""
    one, other = Counter(WORD.findall(recorded)), Counter(WORD.findall(replayed))
    both = (one & other).total()
    total = (one.total() + other.total()) / 2 if is_whole else one.total()
    return both / total if total else 1.0
