"""`Verdict`: keep or drop, and why."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the rules decided of one record that entered."""

    id: str
    """The record's document id, whether or not a document came of it."""
    keep: bool
    rule: str
    """The rule that decided; empty when kept."""
    reason: str
    """Reason code, such as `too_few_words`; empty when kept."""
    measurements: Mapping[str, float]
    """What the rules measured, by name, as far as they got."""
