"""Gold pages of `bench/extract/main_text.py`: read and write them, and hold a part of them back from tuning.

A third of the hosts is held back: those whose BLAKE2 digest is divisible by 3. The host is that of the page's URL, or
else of its canonical link, or else the one that most of its absolute links name; without any, the identifier of the
page stands for it. Pages of documentation are split by package, because a package has one template.
"""

import hashlib
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import zstandard

from tests.shared import read_tar_file

Part = Literal["tuned", "held", "all"]
Row = dict[str, Any]
_CANONICAL = (
    re.compile(
        rb"<link\b(?=[^>]*\brel=[\"']?canonical)[^>]*\bhref=[\"']?(https?://[^\"'>\s]+)", re.IGNORECASE
    ),
    re.compile(rb"<meta\b(?=[^>]*og:url)[^>]*\bcontent=[\"']?(https?://[^\"'>\s]+)", re.IGNORECASE),
)
_LINK = re.compile(rb"\bhref=[\"']?(https?://[^\"'>\s]+)", re.IGNORECASE)


class GoldPage(NamedTuple):
    """A page, and what is known of its content."""

    row: Row
    body: bytes


def read(folders: list[Path], part: Part = "all") -> list[tuple[Path, list[GoldPage]]]:
    """Return the pages of each folder, in the order of their identifiers; `part` selects pages by their hosts."""
    found = []
    for folder in folders:
        rows = sorted(jsonl(folder / "gold.jsonl.zst"), key=lambda row: row["id"])
        bodies = dict(pages(folder / "pages.tar.zst", {row["html"] for row in rows}))
        kept = (GoldPage(row, bodies[row["html"]]) for row in rows)
        found.append((folder, [page for page in kept if part in {"all", part_of(page)}]))
    return found


def write(folder: Path, found: Iterable[GoldPage]) -> Counter[str]:
    """Write pages into a folder that `read` can read, and return their number by source."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, tarred = [], io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w") as tar:
        for row, body in found:
            rows.append(row)
            member = tarfile.TarInfo(row["html"])
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    packed = zstandard.ZstdCompressor(level=3)
    (folder / "pages.tar.zst").write_bytes(packed.compress(tarred.getvalue()))
    (folder / "gold.jsonl.zst").write_bytes(
        packed.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    )
    return Counter(row["source"] for row in rows)


def part_of(page: GoldPage) -> Part:
    """Return the part to which a page belongs."""
    digest = hashlib.blake2b(host(page).encode(), digest_size=8).digest()
    return "held" if int.from_bytes(digest) % 3 == 0 else "tuned"


def host(page: GoldPage) -> str:
    """Return the host of a page, without `www.`."""
    row, body = page
    if row["kind"] == "documentation":
        return str(row["source"])
    stated = [match[1] for pattern in _CANONICAL if (match := pattern.search(body))]
    for url in (row["url"] or "", *(each.decode("ascii", "replace") for each in stated)):
        if name := _host_of(url):
            return name
    linked = Counter(_host_of(url.decode("ascii", "replace")) for url in _LINK.findall(body))
    linked.pop("", None)
    return min(linked, key=lambda name: (-linked[name], name)) if linked else str(row["id"])


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def jsonl(path: Path) -> list[Row]:
    """Return the rows of a compressed file of JSON lines."""
    data = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")).read()
    return [json.loads(line) for line in data.decode().split("\n") if line]


def pages(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of the wanted members of a compressed tar."""
    with (
        zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(path.open("rb")) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and member.name in wanted:
                yield member.name, read_tar_file(tar, member)
