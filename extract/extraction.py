"""`Extracted`: what an extractor found in a payload, whatever its format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a page says, and what it says of itself. Absent facts are empty."""

    text: str
    extractor: str
    """`name@version`."""
    route: str = ""
    """Which way through the extractor the page went."""
    title: str = ""
    author: str = ""
    """Names with `; ` between them."""
    date: str = ""
    """ISO 8601 day."""
    declared_language: str = ""
    license: str = ""
    """Address of a licence."""
    canonical_url: str = ""
    metas: tuple[tuple[str, str], ...] = ()
    """What it says of its use: name, in lower case, and content of each <meta> that `extract.rights` reads."""
    is_cut_off: bool = False
    """The payload has no end: some server or archive cut it off."""
