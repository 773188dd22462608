"""Mask personal data and secrets: a rule that edits the text, and drops nothing."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

from thresher.core import Edit
from thresher.filters.edits import apply, compose, replacements
from thresher.filters.signals.account_keys import account_keys
from thresher.filters.signals.personal_data import (
    Occurrence,
    cards,
    emails,
    ibans,
    ip_addresses,
    number_runs,
    phones,
)
from thresher.filters.signals.pseudonyms import KINDS, key_id, replacement
from thresher.filters.text import AnalyzedText, Finding

PII_VERSION = 4
"""Version of the patterns and of what is counted: a recipe holds it, because others find or count other values."""
MAX_SEARCHES = 8
"""Searches of one text: a bound for texts that are made to need many."""
_CLOSE_BEFORE = re.compile(r"(?:[\w+@/=:.#-]|\d\W{1,3})$")
_CLOSE_BEHIND = re.compile(r"[\w+@/=:#-]|\.\S|\W{1,3}[\d+(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PiiMasking:
    """Replace personal data and secrets of the chosen kinds, and count them."""

    kinds: tuple[str, ...] = KINDS
    regions: tuple[str, ...] = ("US", "GB")
    """Countries (ISO 3166) whose phone numbers are found without a country code."""
    key: bytes = field(default=b"", repr=False)
    """Secret that makes replacements differ by value; empty for one placeholder a kind."""

    name: ClassVar[str] = "pii"
    measures: ClassVar[tuple[str, ...]] = tuple(f"pii_{kind}s" for kind in KINDS)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """Kinds, regions and the key's name, which does not betray the key."""
        import phonenumbers  # noqa: PLC0415 - an extra

        return {
            "kinds": list(self.kinds),
            "regions": list(self.regions),
            "key": key_id(self.key),
            "version": PII_VERSION,
            "phonenumbers": phonenumbers.__version__ if "phone" in self.kinds else "",
        }

    def __call__(self, text: AnalyzedText) -> Finding:
        """Return the edits that mask `text`. The document is always kept.

        A value that touches another one may be found only when the other one is replaced: so the text is searched again
        until nothing is found, which takes one more search at least if a value touches something. If `MAX_SEARCHES`
        searches suffice, masking the masked text changes nothing. If more values touch one another in a row, some may
        remain. What a later search finds together with a replacement is one with a value that was replaced before, so
        it is counted once: `://a:.x@firma.de` has an e-mail address, which looks like a password when it is masked.
        """
        counts = dict.fromkeys((f"pii_{kind}s" for kind in self.kinds), 0.0)
        current, edits = text.known, tuple[Edit, ...]()
        for _ in range(MAX_SEARCHES):
            found = self.occurrences(current)
            replaced = list(replacements(edits))
            for occurrence in found:
                if not any(start < occurrence.end and occurrence.start < end for start, end in replaced):
                    counts[f"pii_{occurrence.kind}s"] += 1
            masked = tuple(
                Edit(each.start, each.end, replacement(each.kind, each.value, self.key)) for each in found
            )
            edits = compose(edits, masked)
            if not any(_touches(current, each) for each in found):
                break
            current = apply(current, masked)
        return Finding(measurements=counts, reason=None, edits=edits)

    def occurrences(self, text: str) -> list[Occurrence]:
        """Return what is masked, in the order of the text. Nothing overlaps."""
        return without_overlaps(chain.from_iterable(self._by_kind(text)))

    def _by_kind(self, text: str) -> Iterator[Iterable[Occurrence]]:
        """Yield the occurrences of each kind. What has the stricter format comes first."""
        runs = number_runs(text)
        for kind, found in (
            ("key", account_keys(text)),
            ("email", emails(text)),
            ("iban", ibans(text)),
            ("card", cards(text, runs)),
            ("ip", ip_addresses(text, runs)),
            ("phone", phones(text, runs, self.regions)),
        ):
            if kind in self.kinds:
                yield found


def _touches(text: str, found: Occurrence) -> bool:
    """Return whether something stands so close to an occurrence that a format could reach across both."""
    before, after = text[max(found.start - 4, 0) : found.start], text[found.end : found.end + 4]
    return bool(_CLOSE_BEFORE.search(before) or _CLOSE_BEHIND.match(after))


def without_overlaps(found: Iterable[Occurrence]) -> list[Occurrence]:
    """Return the occurrences in the order of the text, without those that overlap an earlier one of `found`."""
    accepted: list[Occurrence] = []
    batch: list[Occurrence] = []
    kind = ""
    for occurrence in chain(found, (Occurrence(0, 0, "", ""),)):
        if occurrence.kind != kind:
            accepted = _merged(accepted, sorted(batch))
            batch, kind = [], occurrence.kind
        batch.append(occurrence)
    return accepted


def _merged(accepted: list[Occurrence], batch: list[Occurrence]) -> list[Occurrence]:
    """Add a sorted batch to sorted occurrences, as far as it does not overlap them or itself."""
    new: list[Occurrence] = []
    starts = [each.start for each in accepted]
    end = 0
    for occurrence in batch:
        after = bisect_left(starts, occurrence.end)
        overlaps = after > 0 and accepted[after - 1].end > occurrence.start
        if occurrence.start >= end and not overlaps:
            new.append(occurrence)
            end = occurrence.end
    return sorted(accepted + new)
