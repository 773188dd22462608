"""`Verdict`: whether a record is kept, why not, and how its text is edited."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """A range of characters of a text, and what stands in its place after the edit."""

    start: int
    end: int
    """Behind the last replaced character; equal to `start` if the edit only inserts."""
    replacement: str = ""


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
    edits: tuple[Edit, ...] = ()
    """How the rules changed the document's text, in order and without overlaps; exports, signatures and counts of
    tokens use the edited text."""
