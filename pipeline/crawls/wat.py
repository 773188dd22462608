"""WAT files: Common Crawl's metadata about each record of a WARC file, here the URLs of pages and their links."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from thresher.core.url import join_url
from thresher.storage.warc.records import read_records

MIME = "application/json"
OUTLINKS = frozenset({"A@/href", "AREA@/href"})
"""Paths of links that lead to other pages. Other paths name parts of the page itself, such as images."""


def wat_urls(file: BinaryIO, name: str, *, links: bool) -> Iterator[tuple[int, str]]:
    """Yield the URL of each response with the number of its record, from 1; with `links`, its links after it.

    Skip damaged entries. Raise `InputError` if the file is not a WARC file.
    """
    for number, record in enumerate(read_records(file, name=name), 1):
        if record.type != "metadata" or record.mime != MIME:
            continue
        try:
            envelope = json.loads(record.payload)["Envelope"]
            if envelope["WARC-Header-Metadata"]["WARC-Type"] != "response":
                continue
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        yield number, record.url
        if links:
            for url in _links(envelope, record.url):
                yield number, url


def _links(envelope: Any, url: str) -> Iterator[str]:
    try:
        page = envelope["Payload-Metadata"]["HTTP-Response-Metadata"]["HTML-Metadata"]
        base = join_url(url, str(page.get("Head", {}).get("Base", "")))
        found = [
            str(link["url"])
            for link in page.get("Links", ())
            if link.get("path") in OUTLINKS and "url" in link
        ]
    except (KeyError, TypeError, AttributeError, ValueError):
        return
    for link in found:
        yield join_url(base, link)
