"""`Skip`: the reason why a record gives no document."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The record gives no document."""

    reason: str
    """Reason code: status, unsupported_type, empty_body, undecodable, too_large, too_deep, too_complex, no_text,
    block_page, soft_404, login_page; those of `extract.pdf` and `extract.wikitext`; those of the language pre-check;
    damaged and revisit for records that hold no page.
    """
    is_early: bool = False
    """Whether the reason was found without extraction."""
