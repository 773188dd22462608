"""The crawl log: one line for everything that a crawl settled, whether it was fetched or not.

A file is JSON lines, `log/<crawl>/<crawl>-<writer>-<serial>.jsonl.zst`. Its Manifest counts pages by `outcome` or
`outcome:reason`. A line has these keys, in this order; a key with * is left out if it has no value:

    time        when the outcome was known, UTC, with milliseconds
    url         the URL as it was requested, or was to be requested
    kind        `page`, or `robots` for a robots.txt
    outcome     `fetched`, `unchanged`, `redirected`, `gone`, `refused`, `failed`; `retry` if it is tried again later
    reason      why; empty if the outcome says it all
    status*     of the HTTP response
    referrer    URL that led here; empty for a seed
    bytes*      of the response as it came over the wire
    ms*         from the connection to the last byte
    attempt*    how often it was tried before
    token*      of the lease, if the response was a redirect: with it a page that redirects to itself is requested again
    record*, file*, offset*   WARC-Record-ID of what is archived of it, and where that lies
    error*      traceback of the exception that its reading raised
    request     what is needed to request it again

Lines of one writer are in the order in which they happened. A line is durable before anything acts on it. So a killed
worker may leave a line twice, or a line whose lease another worker has settled as well: of two lines of one URL the
later counts.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from thresher.core import CorruptData
from thresher.storage.archive.open_files import open_files, snapshot
from thresher.storage.store import Store

FOLDER = "log"
SUFFIX = ".jsonl"
SEALED_SUFFIX = ".jsonl.zst"
RETRY = "retry"
UNLOGGED = "no_log"
"""Reason of an archived page that no log has."""
PIECE = 1 << 18
"""Bytes unpacked at a time."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line. An unknown value is empty, 0 or None."""

    time_ms: int
    """Milliseconds since 1970, UTC."""
    url: str
    kind: str
    outcome: str
    reason: str = ""
    status: int | None = None
    referrer: str = ""
    bytes: int | None = None
    ms: int | None = None
    attempt: int = 0
    token: int = 0
    record: str = ""
    file: str = ""
    offset: int = 0
    error: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Whether the line settles a page."""
        return self.kind == "page" and self.outcome != RETRY


def encode(line: LogLine) -> bytes:
    """Return the text of a line, with its line break. It holds only ASCII."""
    moment = _EPOCH + line.time_ms * _MS
    body: dict[str, Any] = {
        "time": f"{moment.isoformat(timespec='milliseconds')[:23]}Z",
        "url": line.url,
        "kind": line.kind,
        "outcome": line.outcome,
        "reason": line.reason,
    }
    if line.status is not None:
        body["status"] = line.status
    body["referrer"] = line.referrer
    if line.bytes is not None:
        body["bytes"] = line.bytes
    if line.ms is not None:
        body["ms"] = line.ms
    if line.attempt:
        body["attempt"] = line.attempt
    if line.token:
        body["token"] = line.token
    if line.record:
        body |= {"record": line.record, "file": line.file, "offset": line.offset}
    if line.error:
        body["error"] = line.error
    body["request"] = line.request
    return f"{json.dumps(body, separators=(',', ':'))}\n".encode()


def decode(text: bytes) -> LogLine:
    """Return the line of a text. Raise `ValueError`, `KeyError` or `TypeError` if the text is no line."""
    body = json.loads(text)
    moment = datetime.fromisoformat(body.pop("time"))
    return LogLine(time_ms=(moment - _EPOCH) // _MS, **body)


def files(store: Store, crawl: str) -> Iterator[str]:
    """Yield the names of the sealed files of a crawl's log."""
    yield from (name for name in store.list(f"{FOLDER}/{crawl}/") if name.endswith(SEALED_SUFFIX))


def read(store: Store, name: str) -> Iterator[LogLine]:
    """Yield the lines of a sealed file. Raise `CorruptData`, which names the file and the last good line, if a line
    is damaged.
    """
    number = 0
    try:
        with store.open(name) as file:
            for text in _split(_unpacked(file)):
                yield decode(text)
                number += 1
    except (ValueError, KeyError, TypeError, zstandard.ZstdError) as error:
        detail = " ".join(str(error).split())
        raise CorruptData(
            f"{name} is no crawl log after its line {number} ({detail}); copy it back, or give it up with"
            " `thresher verify --accept-loss`"
        ) from error


def lines(store: Store, crawl: str) -> Iterator[LogLine]:
    """Yield every line of a crawl's log, those of open files included. The lines of one writer come in order; those of
    several writers come in no order.

    A file that is sealed meanwhile may be read twice, and none is left out.
    """
    folder = f"{FOLDER}/{crawl}"
    for name in open_files(store, folder):
        if name.endswith(SUFFIX):
            with snapshot(store, folder, name) as path:
                if path is not None:
                    yield from whole_lines(path)
    for name in files(store, crawl):
        yield from read(store, name)


def whole_lines(path: Path) -> Iterator[LogLine]:
    """Yield the whole lines of an open file. Skip what a crash has left between them."""
    return (line for _, line in placed_lines(path))


def placed_lines(path: Path) -> Iterator[tuple[int, LogLine]]:
    """Yield the lines of `whole_lines`, each with the offset at which it starts."""
    end = 0
    with path.open("rb") as file:
        for text in file:
            start, end = end, end + len(text)
            try:
                line = decode(text)
            except (ValueError, KeyError, TypeError):
                continue
            yield start, line


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a local file, one piece at a time."""
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of one Zstandard frame, piece by piece. Raise `ValueError` if the frame is truncated."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    while piece := file.read(PIECE):
        yield frame.decompress(piece)
    if not frame.eof:
        raise ValueError("it is truncated")


def _split(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        raise ValueError("it ends within a line")
