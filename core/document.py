"""`Document`: the text extracted from one record."""

from dataclasses import dataclass

from thresher.core.record import RecordRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Text and facts of one archived page. The judgement about it is a `Verdict`, which is stored beside it."""

    id: str
    """32 hexadecimal digits, derived from the source's name and the record's place in it: a record has the same id in
    every run, and no other record has it.
    """
    url: str
    text: str
    title: str
    date: str
    """Publication date as found on the page (ISO 8601), or empty."""
    author: str = ""
    """Names of the authors according to the page, with `; ` between them, or empty."""
    fact_sources: str = ""
    """What states title, author and date on the page, such as `title: h1; author: json-ld author; date: meta date`."""
    canonical_url: str = ""
    """Address that the page calls its own (`rel=canonical`, `og:url`), absolute, or empty."""
    language: str
    """ISO 639 code of the recognised language, or empty."""
    declared_language: str
    """Language that the page declares (`<html lang>`), or empty."""
    license: str
    robots: str = ""
    """Directives of the page for robots, as far as they were in force, in alphabetical order, with commas."""
    tdm_reservation: str = ""
    """`1` if text and data mining is reserved, `0` if the page says that it is not, or empty."""
    tdm_policy: str = ""
    """Address of the policy for text and data mining, as written, or empty."""
    mime: str
    """Media type of the bytes (WHATWG MIME sniffing)."""
    declared_mime: str = ""
    """Media type according to the server or the input, without parameters, or empty."""
    charset: str
    """Encoding of the bytes (WHATWG name); empty if they are no text."""
    charset_source: str = ""
    """Origin of the charset: `bom`, `header`, `meta` or `detected`; empty if there is no charset."""
    truncated: str = ""
    """Why the payload is not whole (WARC-Truncated, or the reason in Common Crawl's index), or empty."""
    extractor: str
    """`name@version` of the extractor that made the text."""
    route: str = ""
    """The page's way through the extractor, such as `article` or `listing`."""
    source: str
    """Name of the crawl or ingest."""
    external_id: str
    """The input's own id, or empty."""
    fetched_at_ms: int
    record: RecordRef
    screenshot_offset: int = 0
    """First byte, in the file of the document's own record, of the record with the picture of the page: of all of it,
    or of the window if that shows all.
    """
    screenshot_length: int = 0
    """Stored bytes of that record; 0 if the archive has no picture of the page."""
