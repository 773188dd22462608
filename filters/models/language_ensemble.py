"""Decide the language of a text from the votes of three models (`language_votes`).

CLD2 reads the text first. If CLD2 is sure, its answer stands. Otherwise lid.176 and py3langid are asked too, and the
votes are combined as a weighted sum of logarithms. The probability is then calibrated. The weights and the
calibration were fitted on one half of the sentences, word pairs and words of lingua's test data (75 languages), split
by a hash of the text; `bench/filters/languages.py` measures on the other half.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from thresher.filters.models.language_codes import SCANDINAVIAN, SOUTH_SLAVIC, group_of
from thresher.filters.models.language_votes import (
    Shares,
    Vote,
    cld2_vote,
    clean,
    known_languages,
    langid_vote,
    lid176_vote,
)

WINDOW = 600
"""Characters of one window of a long text. Its begin, its middle and its end are read."""
WINDOWS = 3
MAX_WINDOWS = 12
"""Windows that are read if the first three are not all in one language."""
ASKED = 900
"""Characters that lid.176 and py3langid read: their time grows with them, and more do not improve the answer."""
MIN_SURE = 200
"""Characters below which CLD2 alone is never sure."""
MIN_AGREED = 0.9
"""Share of the first language from which no more windows are read."""
SURE_SCORE = 0.995
"""Score of a language of which CLD2 is sure: the share of such texts for which the group is right."""
MIN_SHARES = 300
"""Characters below which a text counts as one language: a name or a quotation would be a large part of it."""

LANGID_GROUPS = frozenset({SOUTH_SLAVIC, SCANDINAVIAN})
"""Groups in which py3langid tells the languages apart better than CLD2 does: of sentences of the fitted half .757 and
.938 right, CLD2 .741 and .907, together .772 and .956. It is asked about every text in them."""

WEIGHTS = (1.0, 0.5, 1.0)
"""Weights of CLD2, lid.176 and py3langid."""
FLOORS = (0.02, 0.001, 0.001)
"""Share that each model may have withheld from a language wrongly."""
UNKNOWN = 0.02
"""Share that counts as the vote of a model that cannot recognise a language."""
CALIBRATION = (-1.718, 0.561, 0.657)
"""Intercept, and weights of the log-odds of the combined probability and of the logarithm of the length."""


def windows(text: str, number: int = WINDOWS) -> list[str]:
    """Return `number` windows of a text, from its begin to its end, or all of a short text in one.

    The time depends on `number`, and is the same for a text of any length.
    """
    if len(text) <= WINDOWS * WINDOW:
        parts = [text]
    else:
        last = len(text) - WINDOW
        parts = [text[start : start + WINDOW] for start in (last * i // (number - 1) for i in range(number))]
    return [cleaned for part in parts if (cleaned := clean(part))]


def decide(text: str) -> tuple[str, float, float]:
    """Return the language of a text, its score from 0 to 1, and its share of the text.

    A text without letters has no language.
    """
    return sure_answer(reading := read(text)) or unsure_answer(reading)


class Reading(NamedTuple):
    """What CLD2 says of a text."""

    asked: str
    """The text that the other models are asked about."""
    length: int
    """Characters of the windows."""
    shares: Mapping[str, float]
    groups: Mapping[frozenset[str], float]
    are_reliable: tuple[bool, ...]
    """For each window whether CLD2 calls its answer reliable."""


def read(text: str) -> Reading:
    """Return what CLD2 says of a text, which takes a tenth of the time of all models."""
    parts = windows(text)
    votes = [cld2_vote(part) for part in parts]
    if len(text) > WINDOWS * WINDOW and max(by_group(mean(parts, votes)).values(), default=0.0) < MIN_AGREED:
        parts = windows(text, MAX_WINDOWS)
        votes = [cld2_vote(part) for part in parts]
    shares = mean(parts, votes)
    return Reading(
        asked=" ".join(part[: ASKED // len(parts)] for part in parts),
        length=sum(map(len, parts)),
        shares=shares,
        groups=by_group(shares),
        are_reliable=tuple(vote.is_reliable for vote in votes),
    )


def sure_answer(reading: Reading) -> tuple[str, float, float] | None:
    """Return the answer of `decide` if CLD2 is sure; return None if the other models must be asked."""
    shares, groups, length = reading.shares, reading.groups, reading.length
    if not groups or length < MIN_SURE or not all(reading.are_reliable):
        return None
    first, is_long = _largest(groups), length >= MIN_SHARES
    if not is_long and groups[first] < MIN_AGREED:
        return None
    bayes = langid_vote(reading.asked) if first in LANGID_GROUPS else {}
    return member(first, shares, shares, bayes), SURE_SCORE, groups[first] if is_long else 1.0


def unsure_answer(reading: Reading) -> tuple[str, float, float]:
    """Return the answer of `decide` if CLD2 is not sure."""
    asked, length, shares, groups = reading.asked, reading.length, reading.shares, reading.groups
    if not any(map(str.isalpha, asked)):
        return "", 0.0, 1.0
    bayes = langid_vote(asked)
    combined = combine(shares, lid176_vote(asked), bayes)
    combined_groups = by_group(combined)
    chosen = _largest(combined_groups)
    is_measured = length >= MIN_SHARES and any(reading.are_reliable)
    score = calibrated(combined_groups.get(chosen, 0.0), length)
    code = member(chosen, combined, shares, bayes)
    return code, score, groups.get(chosen, 1.0) if is_measured else 1.0


def combine(cld2: Vote, fast: Vote, bayes: Vote) -> dict[str, float]:
    """Return the probability of each language that a model considers: the weighted geometric mean of the votes.

    Sums are exact, because `sum` of floats rounds otherwise since Python 3.12.
    """
    votes, known = (cld2, fast, bayes), known_languages()
    sums = {
        code: math.fsum(
            weight * math.log((1 - floor) * vote.get(code, 0.0) + floor if code in knows else UNKNOWN)
            for vote, knows, weight, floor in zip(votes, known, WEIGHTS, FLOORS, strict=True)
        )
        for code in sorted({code for vote in votes for code in vote})
    }
    best = max(sums.values(), default=0.0)
    weights = {code: math.exp(total - best) for code, total in sums.items()}
    whole = math.fsum(weights.values())
    return {code: weight / whole for code, weight in weights.items()}


def mean(parts: list[str], votes: list[Shares]) -> dict[str, float]:
    """Return the share of each language in the windows of a text together, by characters."""
    shares: dict[str, float] = {}
    total = sum(len(part) for part, vote in zip(parts, votes, strict=True) if vote.shares)
    for part, vote in zip(parts, votes, strict=True):
        whole = math.fsum(vote.shares.values())
        for code, share in vote.shares.items():
            shares[code] = shares.get(code, 0.0) + share / whole * len(part) / total
    return shares


def member(group: frozenset[str], votes: Vote, cld2: Vote, bayes: Vote) -> str:
    """Return the language of a group that a text is in, by the votes; in `LANGID_GROUPS` by py3langid and CLD2."""
    if group in LANGID_GROUPS:
        votes = {code: (1 + cld2.get(code, 0.0)) * (FLOORS[2] + bayes.get(code, 0.0)) for code in group}
    return max(sorted(group & votes.keys()), key=lambda code: votes[code], default="")


def by_group(shares: Vote) -> dict[frozenset[str], float]:
    """Return the sum of the shares of each group."""
    groups: dict[frozenset[str], float] = {}
    for code, share in shares.items():
        group = group_of(code)
        groups[group] = groups.get(group, 0.0) + share
    return groups


def calibrated(probability: float, length: int) -> float:
    """Return how often an answer with this combined probability, on a text of this length, is right."""
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    intercept, slope, per_length = CALIBRATION
    odds = intercept + slope * math.log(bounded / (1 - bounded)) + per_length * math.log(length)
    return 1 / (1 + math.exp(-odds))


def _largest(groups: Mapping[frozenset[str], float]) -> frozenset[str]:
    return max(groups, key=lambda group: (groups[group], sorted(group)), default=frozenset())
