"""`CrawlLogWriter`: the log of a crawl as one writer makes it, from its first line to the seal of its last file.

1. What was appended before `commit` is durable, whatever happens to the writer or the machine.
2. An open file is plain text, `log/<crawl>/.open/<crawl>-<writer>-<serial>.jsonl` if the store is a directory, so that
   a reader can follow it while it grows. A sealed file is compressed.
3. `recover_log` seals what a dead writer left; a file that is being written is locked. What a writer adds after its
   file was sealed is sealed as a file of its own, as in the archive (`storage.archive.recovery`).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import zstandard

from thresher.core import Conflict, InputError
from thresher.storage.archive.archive_writer import NAME_PATTERN
from thresher.storage.archive.open_files import (
    AbandonedFile,
    OpenFile,
    claim,
    create_open_file,
    is_file_or_tail,
    open_files,
    tail_name,
    writer_and_serial,
)
from thresher.storage.crawllog.log_line import (
    FOLDER,
    SEALED_SUFFIX,
    SUFFIX,
    LogLine,
    encode,
    files,
    pieces,
    placed_lines,
    read,
)
from thresher.storage.manifest import (
    JSON,
    Manifest,
    Output,
    digest,
    fingerprint,
    manifest_name,
    seal,
    stored_digest,
)
from thresher.storage.store import Store

STEP_NAME = "log"
STEP = f"{STEP_NAME}@1"
LOST_STEP = "lost"
"""The step of log files that were given up: only their counts are left."""
ARCHIVES, VISITS = "archives", "visits"
"""Fields of the recipe: the archive files that lines refer to, and whether a page is to be visited again."""
LEVEL = 3
"""Zstandard's own default."""
MAX_BYTES = 64 << 20
"""Size of an open file at which it is sealed: about 150,000 lines, which are compressed within a second."""
MAX_AGE_S = 3600.0


@dataclass(slots=True)
class LogCounts:
    """What a Manifest says of the lines of a file."""

    rows: int = 0
    pages: Counter[str] = field(default_factory=Counter)
    """Settled pages, by `outcome` or `outcome:reason`."""
    archives: set[str] = field(default_factory=set)
    visits: bool = False

    def count(self, line: LogLine) -> LogLine:
        """Count a line, and return it."""
        self.rows += 1
        if line.is_final:
            self.pages[f"{line.outcome}:{line.reason}" if line.reason else line.outcome] += 1
        if line.file:
            self.archives.add(line.file)
        self.visits |= "interval_s" in line.request
        return line


class CrawlLogWriter:
    """The log of one crawl. `writer` names one life of one process, and is never used again."""

    def __init__(
        self,
        store: Store,
        crawl: str,
        *,
        writer: str,
        max_bytes: int = MAX_BYTES,
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for what, name in (("crawl", crawl), ("writer", writer)):
            if not NAME_PATTERN.fullmatch(name):
                raise InputError(f"{name!r} cannot name a {what}: use letters, digits, dot, dash, underscore")
        self._store, self._crawl, self._writer = store, crawl, writer
        self._max_bytes, self._max_age_s, self._clock = max_bytes, max_age_s, clock
        self._fresh = bytearray()
        self._tally = LogCounts()
        self._open: OpenFile | None = None
        self._written = self._serial = 0
        self._begun = 0.0
        self._is_synced = True

    def append(self, line: LogLine) -> None:
        """Add a line. It is durable after `commit`."""
        self._fresh += encode(self._tally.count(line))

    def commit(self) -> None:
        """Bring everything appended to the disk. If it raises, it may be called again."""
        if self._fresh:
            if self._open is None:
                self._open = create_open_file(self._store, f"{FOLDER}/{self._crawl}", self._name(SUFFIX))
                self._written, self._begun = 0, self._clock()
            data = bytes(self._fresh)
            self._open.write(data, self._written)
            self._written += len(data)
            self._fresh.clear()
            self._is_synced = False
        if self._open is not None and not self._is_synced:
            self._open.sync()
            self._is_synced = True

    @property
    def is_due(self) -> bool:
        """Whether the open file is large or old enough to be sealed."""
        return self._open is not None and (
            self._written >= self._max_bytes or self._clock() - self._begun >= self._max_age_s
        )

    def seal(self) -> Manifest | None:
        """Close and publish the open file, and return its Manifest; None if there is no open file. If it raises, it may
        be called again. Raise `Conflict` if another process has sealed it, because this writer was declared dead.
        """
        self.commit()
        if self._open is None:
            return None
        texts = pieces(self._open.path)
        manifest = _publish(self._store, self._crawl, self._name(""), texts, self._tally)
        self._open.remove()
        self._open, self._tally = None, LogCounts()
        self._serial += 1
        return manifest

    def _name(self, suffix: str) -> str:
        return f"{self._crawl}-{self._writer}-{self._serial:05d}{suffix}"

    def __repr__(self) -> str:
        return f"<log of {self._crawl} by {self._writer}: {self._written} bytes in its open file>"


def put(store: Store, crawl: str, stem: str, lines: Iterable[LogLine]) -> Manifest | None:
    """Publish and seal a file of the log with these lines, and return its Manifest; None if there are no lines. Raise
    `Conflict` if a file of that name has other lines.
    """
    rest = iter(lines)
    first = next(rest, None)
    if first is None:
        return None
    tally = LogCounts()
    texts = (encode(tally.count(line)) for line in chain((first,), rest))
    return _publish(store, crawl, stem, texts, tally)


def _publish(store: Store, crawl: str, stem: str, texts: Iterable[bytes], tally: LogCounts) -> Manifest:
    """Publish and seal a file of the log. `tally` counts the lines while `texts` is read."""

    def write(path: Path) -> None:
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        with path.open("wb") as file, packer.stream_writer(file) as packed:
            for text in texts:
                packed.write(text)

    part = f"{crawl}/{stem}"
    name = f"{FOLDER}/{part}{SEALED_SUFFIX}"
    with store.stage(name) as staged:
        write(staged.path)
        output = Output(name=name, bytes=staged.path.stat().st_size, sha256=digest(staged.path), rows=0)
        if not staged.publish() and stored_digest(store, name) != output.sha256:
            raise Conflict(f"{name} was published by another process, with other lines")
    return _seal(store, part, output, tally)


def reseal_unsealed(store: Store, crawl: str) -> int:
    """Seal the files of a crawl's log that have lost their Manifest, as they are, and return how many. Raise
    `CorruptData` if a file cannot be read.
    """
    lost = 0
    for name in files(store, crawl):
        lost += _reseal_unsealed(store, name)
    return lost


def _reseal_unsealed(store: Store, name: str) -> bool:
    part = name.removeprefix(f"{FOLDER}/").removesuffix(SEALED_SUFFIX)
    if store.exists(manifest_name(STEP_NAME, part)):
        return False
    tally = LogCounts()
    for line in read(store, name):
        tally.count(line)
    output = Output(name=name, bytes=store.size(name), sha256=stored_digest(store, name), rows=0)
    _seal(store, part, output, tally)
    return True


def seal_as_lost(store: Store, manifest: Manifest) -> None:
    """Keep the counts of a log file that is given up, for those who count pages."""
    step = f"{LOST_STEP}@1"
    nothing = replace(manifest, step=step, recipe={}, fingerprint=fingerprint(step, {}, ()), outputs=())
    seal(store, nothing)


def _seal(store: Store, part: str, output: Output, tally: LogCounts) -> Manifest:
    recipe: dict[str, JSON] = {
        "format": "JSON lines",
        ARCHIVES: sorted(tally.archives),
        VISITS: tally.visits,
    }
    manifest = Manifest(
        step=STEP,
        part=part,
        fingerprint=fingerprint(STEP, recipe, ()),
        recipe=recipe,
        inputs=(),
        outputs=(replace(output, rows=tally.rows),),
        counts=tally.pages,
    )
    seal(store, manifest)
    return manifest


def open_writers(store: Store, crawl: str) -> set[str]:
    """Return the writers that have an open file of a crawl's log."""
    names = open_files(store, f"{FOLDER}/{crawl}")
    return {writer_and_serial(crawl, name.removesuffix(SUFFIX))[0] for name in names} - {""}


def recover_log(store: Store, crawl: str, writer_is_dead: Callable[[str], bool]) -> int:
    """Seal what dead writers left of a crawl's log, and return how many files. It may be killed and run again."""
    folder, sealed = f"{FOLDER}/{crawl}", 0
    for name in open_files(store, folder):
        stem = name.removesuffix(SUFFIX)
        writer, _ = writer_and_serial(crawl, stem)
        if stem == name or not writer or not writer_is_dead(writer):
            continue
        with claim(store, folder, name) as left:
            if left is None:
                continue
            sealed += _recover_file(store, crawl, stem, left)
            left.remove()
    return sealed


def _recover_file(store: Store, crawl: str, stem: str, abandoned: AbandonedFile) -> bool:
    """Seal the lines of an open file that no published file has; return False if there are none."""
    while True:
        listed = store.list(f"{FOLDER}/{crawl}/{stem}")
        published = [
            name for name in listed if name.endswith(SEALED_SUFFIX) and is_file_or_tail(stem, _stem(name))
        ]
        sealed_digests: set[bytes] = set()
        for name in published:
            _reseal_unsealed(store, name)
            sealed_digests.update(_line_digest(line) for line in read(store, name))
        rest = (
            (at, line)
            for at, line in placed_lines(abandoned.path)
            if not sealed_digests or _line_digest(line) not in sealed_digests
        )
        first = next(rest, None)
        if first is None:
            return False
        lines = chain((first[1],), (line for _, line in rest))
        name = tail_name(stem, abandoned.original_offset(first[0])) if published else stem
        try:
            put(store, crawl, name, lines)
        except Conflict:  # another process was quicker; seal the lines that it did not have
            if f"{FOLDER}/{crawl}/{name}{SEALED_SUFFIX}" in published:
                raise
            continue
        return True


def _line_digest(line: LogLine) -> bytes:
    """Return a digest that two lines share only if they are the same."""
    return blake2b(encode(line), digest_size=16).digest()


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SEALED_SUFFIX)
