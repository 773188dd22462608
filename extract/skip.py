"""`Skip`: why no document came of a record."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The record is not a page with text."""

    reason: str
    """Reason code: status, unsupported_type, empty_body, undecodable, too_large, too_deep, too_complex, no_text, block_page, soft_404,
    login_page; those of `extract.pdf` and `extract.wikitext`; what a glance says; damaged and revisit of records that hold no page."""
    is_early: bool = False
    """Whether it was told without extracting anything."""
