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
    charset: str
    """Encoding the bytes were decoded with (WHATWG name)."""
    extractor: str
    """`name@version` of what made the text."""
    source: str
    """Name of the crawl or ingest."""
    external_id: str
    """The input's own id, where it had one."""
    fetched_at_ms: int
    record: RecordRef
