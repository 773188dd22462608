"""`PageFilter`: the cheap filters that `archive = "kept"` puts before the archive.

| reason           | dropped pages                                                                           |
|------------------|-----------------------------------------------------------------------------------------|
| `status`         | responses with another status than 200; redirects never reach this filter               |
| `not_text`       | responses without text, by their bytes and by the type that the server names            |
| `empty_body`     | pages of white space only                                                               |
| `truncated`      | truncated pages, though their beginning might have been kept                            |
| `other_language` | pages whose whole text is surely in languages that are not wanted                       |

The first three drop nothing that the process step could keep. `pipeline.steps.language_precheck` says how the language
is checked.

There is no limit on length. The extractor may put a text out twice, so no count of a page's words proves that its text
has fewer words than a preset asks for.
"""

from dataclasses import dataclass

from thresher.crawler.archive_filter import CandidatePage
from thresher.extract.charset import decode
from thresher.extract.mime import HTML, PLAIN, XHTML, sniff_type
from thresher.extract.raw_text import page_windows, windows
from thresher.extract.record_document import READABLE
from thresher.pipeline.steps.language_precheck import is_other_language

MAX_BYTES_READ = 256 << 10
"""Maximum bytes of a page that are checked for its language."""
TEXT_TYPES = frozenset((HTML, XHTML, PLAIN))
"""Types whose bytes are text as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Decides whether a page is archived."""

    languages: tuple[str, ...]
    """Wanted languages; all if empty."""

    def __call__(self, page: CandidatePage) -> str | None:
        """Return the reason for which a page is not archived, or None. The cheapest checks come first."""
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
