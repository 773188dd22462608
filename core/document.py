"""`Document`: the text extracted from one record."""

from dataclasses import dataclass

from core.record import RecordRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Text and facts of one archived page. Judgements of it are `Verdict`s, stored beside it."""

    id: str
    """32 hexadecimal digits, derived from the source's name and where the record lies: the same record has the
    same id in every run, and no other record has it."""
    url: str
    text: str
    title: str
    date: str
    """Publication date as found on the page (ISO 8601), or empty."""
    author: str = ""
    """Who the page says has written it, names with `; ` between them, or empty."""
    canonical_url: str = ""
    """Address that the page calls its own (`rel=canonical`, `og:url`), absolute, or empty."""
    language: str
    """ISO 639 code that the text was recognised as, or empty."""
    declared_language: str
    """What the page says of itself (`<html lang>`), or empty."""
    license: str
    robots: str = ""
    """What the page asks of robots, as far as it was in force: directives in alphabetical order, with commas."""
    tdm_reservation: str = ""
    """`1` where text and data mining is reserved, `0` where the page says that it is not, or empty."""
    tdm_policy: str = ""
    """Address of the policy for text and data mining, as written, or empty."""
    mime: str
    """What the bytes are (WHATWG MIME sniffing)."""
    declared_mime: str = ""
    """What the server or the input called them, without parameters, or empty."""
    charset: str
    """Encoding the bytes were decoded with (WHATWG name); empty for what is no text."""
    charset_source: str = ""
    """Who said so: `bom`, `header`, `meta` or `detected`; empty where there is no charset."""
    truncated: str = ""
    """Why the payload is not whole (WARC-Truncated, or what Common Crawl's index says), or empty."""
    extractor: str
    """`name@version` of what made the text."""
    route: str = ""
    """Which way through the extractor the page went, such as `article` or `listing`."""
    source: str
    """Name of the crawl or ingest."""
    external_id: str
    """The input's own id, where it had one."""
    fetched_at_ms: int
    record: RecordRef
