"""`Selection`: the records of a crawl that a user wants. Pure.

Its spans are looked up in an index. Every row found is then checked against the whole selection, so that both indexes
give the same records.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

from thresher.core import InputError
from thresher.core.url import split_url
from thresher.storage.commoncrawl.file_names import subset
from thresher.storage.commoncrawl.index.row import CrawlIndexRow
from thresher.storage.commoncrawl.index.span import Span, domain_spans, merge_spans, prefix_span
from thresher.storage.manifest import JSON

SCHEME = re.compile(r"^https?://", re.IGNORECASE)
DOTS = re.compile(r"/\.\.?(?:/|$)")
LANGUAGE = re.compile(r"[a-z]{3}")
MIME = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")
DEFAULT_STATUSES = frozenset({200})
"""Statuses if the user gives none: pages."""
PAGES, DIAGNOSTICS = frozenset({"warc"}), frozenset({"crawldiagnostics"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The selected records of one crawl. Raise `InputError` if no index can answer the selection."""

    crawl: str
    domains: frozenset[str] = frozenset()
    """Host names in lower case ASCII; each stands for all names below it too."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of URLs; `http` and `https` count as the same."""
    mimes: frozenset[str] = frozenset()
    """Media types, the detected one if the index has it, otherwise the declared one. If empty: all."""
    statuses: frozenset[int] = DEFAULT_STATUSES
    languages: frozenset[str] = frozenset()
    """Languages with the most text of a page, in ISO 639-3. If empty: all, and pages without a language."""
    limit: int | None = None
    """Number of rows at most, in the order of the index."""

    def __post_init__(self) -> None:
        if not (self.domains or self.prefixes):
            raise InputError(
                "a look-up in an index needs domains or beginnings of URLs: give --domain or --url-prefix, or leave out"
                " the other options to ingest whole files"
            )
        for prefix in self.prefixes:
            if DOTS.search(prefix.partition("?")[0]):
                raise InputError(
                    f"--url-prefix {prefix}: an index has no . or .. in paths; write where they lead to"
                )
        for language in self.languages:
            if not LANGUAGE.fullmatch(language):
                raise InputError(
                    f"--language {language}: Common Crawl's indexes have three letters (ISO 639-3), such as eng or deu"
                )
        for mime in self.mimes:
            if not MIME.fullmatch(mime):
                raise InputError(f"--mime {mime}: write a media type such as text/html")
        for status in self.statuses:
            if not 100 <= status <= 999:
                raise InputError(f"--status {status}: write a status such as 200")

    def spans(self) -> tuple[Span, ...]:
        """Return the spans of the index that may hold selected rows."""
        of_domains = (span for domain in self.domains for span in domain_spans(domain))
        return merge_spans([*of_domains, *(prefix_span(prefix) for prefix in self.prefixes)])

    def admits(self, row: CrawlIndexRow) -> bool:
        """Return whether the row is selected."""
        return (
            row.status in self.statuses
            and (not self.mimes or (row.mime_detected or row.mime) in self.mimes)
            and (not self.languages or row.languages.partition(",")[0] in self.languages)
            and subset(row.filename) in self.subsets
            and (
                _without_scheme(row.url).startswith(_bare_prefixes(self.prefixes)) or self._is_within(row.url)
            )
        )

    def recipe(self) -> dict[str, JSON]:
        """Return the whole selection as JSON; sets and tuples become sorted lists."""
        return {
            name: sorted(value) if isinstance(value, frozenset | tuple) else value
            for name, value in asdict(self).items()
        }

    @property
    def subsets(self) -> frozenset[str]:
        """The directories of a segment that hold selected records: redirects and errors have their own directory."""
        return PAGES if all(status // 100 == 2 for status in self.statuses) else PAGES | DIAGNOSTICS

    def _is_within(self, url: str) -> bool:
        return bool(self.domains) and any(name in self.domains for name in _names(url))


@lru_cache(maxsize=16)
def _bare_prefixes(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_without_scheme, prefixes))


def _without_scheme(url: str) -> str:
    """Return `url` without its scheme, with the host in lower case and a slash after it."""
    host, _, rest = SCHEME.sub("", url).partition("/")
    return f"{host.lower()}/{rest}"


def _names(url: str) -> Iterator[str]:
    """Yield the host of a URL and the names above it."""
    host = split_url(url).host
    while host:
        yield host
        _, _, host = host.partition(".")
