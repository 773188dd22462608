"""`WaczPart`: one WACZ file that is being written, WARC file by WARC file. Only a crawl that is split has several."""

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.pipeline.wacz.wacz_index import merged_lines, watched_lines
from thresher.pipeline.wacz.wacz_pages import complete_list
from thresher.storage.warc.wacz import WaczWriter

if TYPE_CHECKING:
    from thresher.pipeline.wacz.wacz_signature import Signer

FACTS_BYTES = 8 << 10
"""Upper bound of what the description of a WACZ takes without the names of other parts. Its title is the longest."""
NAME_BYTES = 32
"""Bytes that the description of a WACZ takes for the name of another part, besides the name of the list."""
FILE_BYTES = 2 << 10
"""Upper bound of what a file adds to the description and to the directory of a WACZ."""

NO_RANK = 1 << 60
"""Of files without a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaczFile:
    """One WARC file with what the other files of a WACZ say of it."""

    name: str
    warc: Path
    run: Path
    """Its lines in the index."""
    pages: Path
    """Its pages, as `ListedPage.write` writes them."""
    needs: Path | None
    """The records that its revisits refer to; None if nobody asks."""
    main_page: str = ""
    rank: int = NO_RANK
    """Of the main page."""
    has_text: bool = False

    @property
    def bytes(self) -> int:
        """Upper bound of its size in a WACZ."""
        return FILE_BYTES + sum(path.stat().st_size for path in (self.warc, self.run, self.pages))


class WaczPart:
    """`add` the files, `add_index` when there are no more, and `finish` when the index of every part is complete."""

    def __init__(self, directory: Path, *, is_split: bool, described: int, life: ExitStack) -> None:
        """The file is closed with `life`. `described` is the upper bound of the bytes of its description."""
        directory.mkdir()
        self._directory, self._is_split = directory, is_split
        self.path = directory / "whole"
        self.payloads, self.needs = directory / "payloads", directory / "needs"
        """Sorted keys of its records that are no revisits, and of those that its revisits refer to, if the crawl is
        split and `add_index` was called.
        """
        self._wacz = life.enter_context(WaczWriter(self.path))
        self._pages = directory / "pages"
        self._pages.touch()
        self._runs: list[Path] = []
        self._needs: list[Path] = []
        self._has_text = False
        self.bytes = described
        """Upper bound of the size."""
        self.main_page, self.rank = "", NO_RANK

    def add(self, file: WaczFile) -> None:
        """Add a WARC file. Its other files are moved or deleted."""
        self.bytes += file.bytes
        self._wacz.add(f"archive/{file.name}", file.warc)
        with file.pages.open("rb") as pages, self._pages.open("ab") as all_pages:
            shutil.copyfileobj(pages, all_pages, 1 << 20)
        file.pages.unlink()
        self._runs.append(file.run.replace(self._directory / f"run-{len(self._runs)}"))
        if file.needs is not None:
            self._needs.append(file.needs.replace(self._directory / f"needs-{len(self._needs)}"))
        if file.rank < self.rank:
            self.main_page, self.rank = file.main_page, file.rank
        self._has_text = self._has_text or file.has_text

    def add_index(self, icons: dict[str, bool]) -> None:
        """Add the index of all files. Mark the icons that it has in `icons`, by their keys."""
        with ExitStack() as life:
            payloads = (
                life.enter_context(self.payloads.open("w", encoding="ascii")) if self._is_split else None
            )
            lines = watched_lines(merged_lines(self._runs, self._directory, life), icons, payloads)
            self._wacz.add_index(lines, self._directory / "index")
        if self._is_split:
            with ExitStack() as life, self.needs.open("w", encoding="ascii") as file:
                file.writelines(merged_lines(self._needs, self._directory, life))
            for path in (*self._runs, *self._needs):
                path.unlink(missing_ok=True)

    def finish(self, facts: Mapping[str, Any], icons: Mapping[str, bool], sign: "Signer | None") -> None:
        """Add the list of pages and the description, and close the file."""
        archived = {key for key, is_archived in icons.items() if is_archived}
        spool = self._directory / "listed"
        with spool.open("w", encoding="ascii") as file:
            file.writelines(complete_list(self._pages, archived, has_text=self._has_text))
        self._wacz.add_pages(spool)
        first = {"mainPageUrl": self.main_page} if self.main_page else {}
        self._wacz.finish({**facts, **first}, sign)
        self._wacz.close()
        self._pages.unlink()
        spool.unlink()
