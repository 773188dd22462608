"""The texts that `thresher process` has extracted, by the record that each was made of.

The list of pages in a WACZ holds them, so that a player finds a page by its words. A text is what pages are trained on:
the main text of a page, without its menus.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from thresher.pipeline.steps.process import NAME as PROCESS
from thresher.storage.manifest import Output, load_manifest
from thresher.storage.store import Store
from thresher.storage.warc.compression import stem

MAX_CHARACTERS = 100_000
"""Of a text in the list, whose readers hold all of it in memory."""


class PageTexts:
    """The texts of one archive file. Ask for them in the order of the records; memory holds some thousand texts."""

    def __init__(self, store: Store, warc: Output) -> None:
        self._rows = _rows(store, warc)
        self._next = next(self._rows, None)

    def at(self, offset: int) -> str:
        """Return the text of the record at `offset`, cut after `MAX_CHARACTERS`; "" if it has none."""
        while self._next is not None and self._next[0] < offset:
            self._next = next(self._rows, None)
        return self._next[1][:MAX_CHARACTERS] if self._next is not None and self._next[0] == offset else ""

    def __repr__(self) -> str:
        return f"<texts from {self._next[0] if self._next else 'the end'} on>"


def _rows(store: Store, warc: Output) -> Iterator[tuple[int, str]]:
    """Yield place and text of each document of an archive file, in the order of the places."""
    parts = f"manifests/{PROCESS}/{stem(warc.name).removeprefix('warc/').replace('/', '/part-', 1)}-"
    for name in store.list(parts):
        for output in load_manifest(store, name).outputs:
            if output.name.startswith("documents/"):
                # pyarrow takes a fifth of a second to import, and a crawl that is not processed has no texts.
                from thresher.storage import tables  # noqa: PLC0415

                columns = tables.columns(tables.DOCUMENTS, "record_offset", "text")
                for table in tables.row_groups(store, output, columns):
                    offsets, texts = table.columns
                    rows: Iterable[Any] = zip(offsets.to_pylist(), texts.to_pylist(), strict=True)
                    yield from sorted(rows)
