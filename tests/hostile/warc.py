"""WARC files read by hand, so that no code of ours stands between the bytes on disk and what a test sees."""

import base64
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One record, and where it lies."""

    head: tuple[tuple[str, str], ...]
    block: bytes
    file: str
    offset: int
    length: int
    rest: bytes
    """The bytes after the block: two line ends in every correct file."""

    def get(self, name: str) -> str | None:
        """Return the value of a field of the head; None if it is missing."""
        return next((value for key, value in self.head if key.lower() == name.lower()), None)

    @property
    def type(self) -> str:
        return self.get("WARC-Type") or ""

    @property
    def id(self) -> str:
        return self.get("WARC-Record-ID") or ""

    @property
    def url(self) -> str:
        return self.get("WARC-Target-URI") or ""

    @property
    def status(self) -> int:
        """Status of the HTTP message; 0 if it has none."""
        words = self.block.split(b"\n", 1)[0].split()
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    @property
    def http_head(self) -> bytes:
        """The head, up to and including the empty line."""
        ends = [at + len(end) for end in (b"\r\n\r\n", b"\n\n") if (at := self.block.find(end)) >= 0]
        return self.block[: min(ends, default=len(self.block))]

    @property
    def body(self) -> bytes:
        """What follows the HTTP head, as it came."""
        return self.block[len(self.http_head) :]


def members(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield offset, stored length and content of each gzip member or zstd frame. Raise if one is incomplete."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        if data[at : at + 4] == b"\x28\xb5\x2f\xfd":
            import zstandard

            engine: Any = zstandard.ZstdDecompressor().decompressobj()
        else:
            engine = zlib.decompressobj(31)
        content = engine.decompress(data[at:])
        if not engine.eof:
            raise ValueError(f"{path}: the member at {at} is torn")
        length = len(data) - at - len(engine.unused_data)
        yield at, length, content
        at += length


def read(path: Path) -> Iterator[Record]:
    """Yield every record of a file. Raise `ValueError` if the file is malformed."""
    for offset, length, content in members(path):
        head, end, rest = content.partition(b"\r\n\r\n")
        version, *lines = head.decode().split("\r\n")
        if version != "WARC/1.1" or not end:
            raise ValueError(f"{path}: no record at {offset}")
        fields = tuple((key, value.strip()) for key, _, value in (line.partition(":") for line in lines))
        size = int({key.lower(): value for key, value in fields}["content-length"])
        yield Record(
            head=fields,
            block=rest[:size],
            file=path.name,
            offset=offset,
            length=length,
            rest=rest[size:],
        )


def sealed(directory: Path) -> list[Path]:
    """Return every sealed file under a project's storage."""
    found = (directory / "warc").rglob("*.warc*")
    return sorted(path for path in found if path.suffix in {".gz", ".zst"} and ".open" not in path.parts)


def archived(directory: Path) -> list[Record]:
    """Yield every record of the sealed files."""
    return [record for path in sealed(directory) for record in read(path)]


def sha1(data: bytes) -> str:
    """Return a digest as WARC files write it."""
    return f"sha1:{base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"
