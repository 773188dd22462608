"""`Extraction`: the result of an extractor, for payloads of any format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The text of a page and the facts that the page states about itself. Absent facts are empty."""

    text: str
    extractor: str
    """`name@version`."""
    route: str = ""
    """The branch of the extractor that handled the page, such as `article` or `pdf/partial`."""
    title: str = ""
    author: str = ""
    """Names, separated by `; `."""
    date: str = ""
    """Day in ISO 8601."""
    fact_sources: str = ""
    """What states title, author and date, such as `title: h1; author: json-ld author; date: meta date`."""
    declared_language: str = ""
    license: str = ""
    """Address of a licence."""
    canonical_url: str = ""
    metas: tuple[tuple[str, str], ...] = ()
    """Name in lower case and content of each <meta> on the page's use that `extract.rights` reads."""
    is_cut_off: bool = False
    """Whether the payload has no end because a server or an archive cut it off."""
