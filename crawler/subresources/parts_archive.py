"""`archive_parts`: write the records of a page's parts into the archive, before those of the page itself.

They follow each other in one file. So if the response of a page is in the archive, its parts are there too, whenever
the writer was killed. Records without their response belong to a page that is fetched again.
"""

from collections.abc import Iterable
from uuid import UUID

from thresher.core import Capture
from thresher.crawler.reading.page_parts import PageParts, Subresource, subresource_id
from thresher.storage.archive.archive_writer import ArchiveWriter

HEAD_BYTES = 1 << 10
"""Bytes reserved for the head of one record."""


def archive_parts(archive: ArchiveWriter, parts: PageParts, page: Capture, page_id: UUID) -> None:
    """Append the exchanges of a page's parts; `page_id` is the id of the page's own record."""
    exchanges = (page, *(each.capture for each in parts.subresources))
    archive.reserve(exchange_bytes(exchanges), max(each.started_ms for each in exchanges))
    append_subresources(archive, parts.subresources, page_id)


def append_subresources(archive: ArchiveWriter, subresources: Iterable[Subresource], page_id: UUID) -> None:
    """Append exchanges for which there is room in one file."""
    for number, each in enumerate(subresources):
        archive.append(each.capture, subresource_id(page_id, number), resource_type=each.kind)


def exchange_bytes(exchanges: Iterable[Capture]) -> int:
    """Return how many bytes the records of exchanges take at most."""
    return sum(len(each.request) + len(each.response) + 2 * HEAD_BYTES for each in exchanges)
