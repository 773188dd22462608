"""WACZ 1.1.1: an archive in one ZIP file that ReplayWeb.page opens in place, seeking in it.

1. `archive/` holds WARC files, stored and never deflated, because readers seek in them.
2. `indexes/index.cdx.gz` is the CDXJ of all, sorted, in gzip members of 1,024 lines; `index.idx` says where each member
   begins.
3. `datapackage.json` names every file with its SHA-256, and `datapackage-digest.json` names that file with its own.
4. No clock goes in: the same files give the same bytes. Memory is bounded, whatever their size.
5. A local header has a ZIP64 field only if the central directory has one for that entry. A reader may conclude from the
   directory alone where the data begins (wabac.js, under ReplayWeb.page, does).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from thresher.storage.warc.compression import gzip_member

VERSION = "1.1.1"
LINES = 1024
"""Lines of an index in one gzip member, as py-wacz writes it."""
EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP file can express."""
MAX_PLAIN_BYTES = (1 << 31) - 1
"""A larger entry gets a ZIP64 field in the central directory: the limit of `zipfile`, lower than that of the format."""
_PAGES = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
PAGES_HEAD, PAGES_HEAD_WITH_TEXT = json.dumps(_PAGES), json.dumps({**_PAGES, "hasText": True})
"""The first line of a list of pages. ReplayWeb.page searches the texts of pages only if it announces them."""
NOT_IN_A_NAME = re.compile(r"[^-a-z0-9._]")


class WaczWriter:
    """The package that is being written: `add` its files, then call `finish`."""

    __slots__ = ("_resources", "_zip")

    def __init__(self, path: Path) -> None:
        self._zip = ZipFile(path, "w", allowZip64=True)
        self._resources: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write the directory and close the file."""
        self._zip.close()

    def add(self, name: str, path: Path) -> None:
        """Store a local file as a file of the package."""
        entry = ZipInfo(name, EARLIEST)
        entry.compress_type = ZIP_DEFLATED if name.endswith((".jsonl", ".idx")) else ZIP_STORED
        sha256, size = hashlib.sha256(), path.stat().st_size
        with self._zip.open(entry, "w", force_zip64=size > MAX_PLAIN_BYTES) as file:
            for piece in pieces(path):
                file.write(piece)
                sha256.update(piece)
        # Frictionless requires names in lower case that all differ.
        slug = NOT_IN_A_NAME.sub("-", name.rpartition("/")[2].lower())
        names = {resource["name"] for resource in self._resources}
        self._resources.append(
            {
                "name": f"{len(self._resources)}-{slug}" if slug in names else slug,
                "path": name,
                "hash": f"sha256:{sha256.hexdigest()}",
                "bytes": size,
            }
        )

    def add_index(self, lines: Iterable[str], spool: Path) -> None:
        """Store the sorted CDXJ lines, each with its line break; `spool` is a path for a temporary file."""
        where = [f"!meta 0 {json.dumps({'format': 'cdxj-gzip-1.0', 'filename': 'index.cdx.gz'})}\n"]
        offset = 0
        with spool.open("wb") as file:
            rest = iter(lines)
            while block := list(islice(rest, LINES)):
                member = gzip_member("".join(block).encode())
                place = {"offset": offset, "length": len(member), "digest": _sha256(member)}
                where.append(f"{block[0].partition('{')[0].strip()} {json.dumps(place)}\n")
                file.write(member)
                offset += len(member)
        self.add("indexes/index.cdx.gz", spool)
        spool.write_text("".join(where), encoding="utf-8")
        self.add("indexes/index.idx", spool)

    def add_pages(self, path: Path) -> None:
        """Store the list of pages: `PAGES_HEAD` or `PAGES_HEAD_WITH_TEXT`, and then each a line of JSON (`page`)."""
        self.add("pages/pages.jsonl", path)

    def finish(
        self, facts: Mapping[str, Any], sign: Callable[[str], Mapping[str, str]] | None = None
    ) -> None:
        """Write the description of the package; `facts`, such as `title` and `created`, stand in it. `sign` returns
        the signature of the description's digest.
        """
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            **facts,
            "resources": self._resources,
        }
        described = (json.dumps(package, indent=2) + "\n").encode()
        digest: dict[str, Any] = {"path": "datapackage.json", "hash": _sha256(described)}
        if sign is not None:
            digest["signedData"] = dict(sign(digest["hash"]))
        for name, data in (
            ("datapackage.json", described),
            ("datapackage-digest.json", (json.dumps(digest, indent=2) + "\n").encode()),
        ):
            self._zip.writestr(ZipInfo(name, EARLIEST), data)

    def __repr__(self) -> str:
        return f"<WACZ of {len(self._resources)} files>"


def page(url: str, moment: str, title: str, text: str = "") -> str:
    """Return a line of the list of pages. Its id is the same for the same URL and moment."""
    identity = hashlib.blake2b(f"{moment} {url}".encode(errors="replace"), digest_size=12).hexdigest()
    more = {name: value for name, value in (("title", title), ("text", text)) if value}
    return json.dumps({"id": identity, "url": url, "ts": moment, **more})


def pieces(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes of a local file."""
    with path.open("rb") as file:
        while data := file.read(size):
            yield data


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
