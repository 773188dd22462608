"""Choose the day on which a page was published. Pure.

The most reliable statement counts: <meta>s and JSON-LD of the publication, elements marked with it, a day in the URL,
a line beside the headline. Only if there is none, the day of the last change counts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from thresher.extract.facts.json_ld import Node, of_article
from thresher.extract.facts.stated import NOTHING, Stated
from thresher.extract.facts.written_days import written_day
from thresher.extract.page.boxes import MetadataElement

PUBLISHED = (
    "article:published_time", "og:article:published_time", "article:published", "og:published_time", "datepublished",
    "dc.date.issued", "dcterms.issued", "dc.issued", "citation_publication_date", "citation_date",
    "citation_online_date", "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish-date",
    "publish_date", "published", "publication_date", "publication-date", "date_published", "article_date_original",
    "article.published", "article.created", "datecreated", "dc.date", "dc.date.created", "dcterms.created",
    "dcterms.date", "dc:date", "dcterms.available", "date", "displaydate", "gentime", "originalpublicationdate",
    "rbpubdate", "cxenseparse:recs:publishtime", "cxenseparse:publishtime", "shareaholic:article_published_time",
    "vr:published_time", "release_date", "creation_date", "created", "timestamp", "sort_date", "video:release_date",
    "bt:pubdate", "eomportal-firstpublished", "ptime", "prism.publicationdate", "time", "uploaddate",
)  # fmt: skip
"""Names of a <meta> with the day of publication, most reliable first (Open Graph, schema.org, Dublin Core, and those of
publishing systems)."""
MODIFIED = (
    "article:modified_time", "og:article:modified_time", "og:updated_time", "datemodified", "dc.date.modified",
    "dcterms.modified", "dc.modified", "lastmod", "last-modified", "lastmodified", "last_modified", "modified",
    "article.updated", "article:modified", "revised", "updated_time", "date_modified", "bt:moddate",
    "eomportal-lastupdate", "cms-lastmodified",
)  # fmt: skip
"""Names of a <meta> with the day of the last change."""
_DAY = re.compile(r"\s*(\d{4})[-/]?(\d{2})[-/]?(\d{2})(?!\d)")
_URL = re.compile(r"[/_\-.=](20\d\d|199\d)[/_-]?(0[1-9]|1[0-2])[/_-]?(0[1-9]|[12]\d|3[01])(?=[/_.\-?&#]|$)")
DATE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:date|time|day|datum|datetime|dateline|timestamp|published|publi\w*|pub[-_]?date|postdate|post-?meta"
    r"|entry-?meta|meta|byline|posted|created|fecha|data|info|submitted|article-?info|subline)",
    re.IGNORECASE,
)


def choose_date(
    meta: Mapping[str, str],
    nodes: Sequence[Node],
    elements: Sequence[MetadataElement],
    lines: Iterable[tuple[str, str]],
    url: str,
    *,
    month_first: bool,
) -> Stated:
    """Return the day of publication in ISO 8601.

    `lines` are the lines beside the headline and those whose boxes have names for dates, each with its source.
    `month_first` says how the page's language writes `1/2/2020`.
    """

    def day(text: str) -> str:
        found = _DAY.match(text)
        return written_day("-".join(found.groups()) if found else text, month_first=month_first)

    for value, source in _statements(meta, nodes, elements, lines, url):
        if not value.isalpha() and (found := day(value)):
            return Stated(found, source)
    return NOTHING


def _statements(
    meta: Mapping[str, str],
    nodes: Sequence[Node],
    elements: Sequence[MetadataElement],
    lines: Iterable[tuple[str, str]],
    url: str,
) -> Iterator[tuple[str, str]]:
    articles = of_article(nodes)
    times = [element for element in elements if element.tag == "time"]
    yield from ((meta[name], f"meta {name}") for name in PUBLISHED if name in meta)
    for key in ("datePublished", "dateCreated", "uploadDate"):
        yield from ((node[key], f"json-ld {key}") for node in articles if isinstance(node.get(key), str))
    yield from (
        (_when(time), "time pubdate")
        for time in times
        if "pubdate" in time.attributes or time.attributes.get("itemprop") == "datePublished"
    )
    if found := _URL.search(url):
        yield "-".join(found.groups()), "url"
    published = [time for time in times if not _says_changed(time)]
    yield from ((_when(time), "time") for time in published[:1])
    yield from lines
    yield from ((_when(time), "time") for time in published[1:])
    for key in ("dateModified",):
        yield from ((node[key], f"json-ld {key}") for node in articles if isinstance(node.get(key), str))
    yield from ((meta[name], f"meta {name}") for name in MODIFIED if name in meta)
    yield from ((_when(time), "time modified") for time in times)


def _when(time: MetadataElement) -> str:
    return time.attributes.get("datetime") or time.attributes.get("content") or time.text


def _says_changed(time: MetadataElement) -> bool:
    said = f"{time.attributes.get('itemprop', '')} {time.attributes.get('class', '')}".lower()
    return "modif" in said or "updat" in said
