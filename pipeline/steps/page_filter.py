"""`Screen`: the cheap filters that `archive = "kept"` puts before the archive.

| reason           | dropped is                                                                              |
|------------------|-----------------------------------------------------------------------------------------|
| `status`         | what was not answered with 200; redirects are never asked after                         |
| `not_text`       | what no text is made of, by its bytes and by what its server calls it                   |
| `empty_body`     | a page without a byte that is no white space                                            |
| `truncated`      | a page that is not whole, though its beginning might have been kept                     |
| `other_language` | a page all of whose text is surely in languages that are not wanted                     |

The first three drop nothing that the process step could keep. How language is looked at, see `pipeline.steps.language_precheck`.

There is no bound on length: the extractor may put a text out twice, so that no count of a page's words proves that
its text has fewer than a preset asks for.
"""

from dataclasses import dataclass

from crawler.archive_filter import CandidatePage
from extract.charset import decode
from extract.mime import HTML, PLAIN, XHTML, sniff_type
from extract.raw_text import page_windows, windows
from extract.record_document import READABLE
from pipeline.steps.language_precheck import is_other_language

MAX_BYTES_READ = 256 << 10
"""Bytes of a page that are looked at."""
TEXT_TYPES = frozenset((HTML, XHTML, PLAIN))
"""Types whose bytes are text as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Names the reason for which a page is not archived, or None."""

    languages: tuple[str, ...]
    """Those that are wanted; all where there are none."""

    def __call__(self, page: CandidatePage) -> str | None:
        """Cheapest first."""
        if page.status != 200:
            return "status"
        mime = sniff_type(page.body, page.mime)
        if page.body.strip() and mime not in READABLE:
            return "not_text"
        if not page.body.strip():
            return "empty_body"
        if page.truncated is not None:
            return "truncated"
        if self.languages and mime in TEXT_TYPES and is_other_language(_windows(page, mime), self.languages):
            return "other_language"
        return None


def _windows(page: CandidatePage, mime: str) -> list[str]:
    text = decode(page.body[:MAX_BYTES_READ], page.header("content-type")).text
    return windows(" ".join(text.split())) if mime == PLAIN else page_windows(text)
