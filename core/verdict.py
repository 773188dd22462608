"""`Verdict`: whether a record is kept, and why not."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The filters' decision about one record."""

    id: str
    """The record's document id, whether or not the record gave a document."""
    keep: bool
    rule: str
    """The rule that decided; empty if the record is kept."""
    reason: str
    """Reason code, such as `too_few_words`; empty if the record is kept."""
    measurements: Mapping[str, float]
    """Measurements of the rules by name; rules after the deciding one may be missing."""
