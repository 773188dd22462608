"""A writer that was given up and lives on appends to a sealed file: its records are kept, and sealed as well."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import pytest

from tests.storage.captures import capture
from tests.storage.crawllog.test_log_line import LINE
from tests.storage.plain_store import PlainStore
from thresher.core import Conflict
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.archive.archive_writer import ArchiveWriter, recover_archives
from thresher.storage.archive.open_files import crawls_with_open_files
from thresher.storage.crawllog import log_line, log_writer
from thresher.storage.crawllog.log_writer import CrawlLogWriter
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.compression import compression_of
from thresher.storage.warc.records import read_records


class Killed(Exception):
    """What a store raises in place of everything that a killed process would have asked of it."""


@dataclass(slots=True)
class Watched:
    """What is asked of a store, counted; at the call of that number something happens."""

    at: int = -1
    what: Callable[[], object] = list
    made: int = 0
    calls: list[str] = field(default_factory=list)

    def step(self, name):
        self.made += 1
        self.calls.append(name)
        if self.made == self.at:
            self.what()


@dataclass(frozen=True, slots=True)
class Stepping(PlainStore):
    """A store of objects whose calls are watched."""

    watched: Watched = field(default_factory=Watched)


for _name in ("put", "put_file", "exists", "list", "read", "delete"):

    def _call(self, *args, _name=_name):
        self.watched.step(_name)
        return getattr(super(Stepping, self), _name)(*args)

    setattr(Stepping, _name, _call)


@pytest.fixture(params=["gzip", "zstd"])
def compression(request: pytest.FixtureRequest):
    return request.param


def dead(_writer):
    return True


def writer(store, compression="gzip"):
    return ArchiveWriter(store, "main", writer="w", user_agent="agent", compression=compression)


def append(archive, number):
    """One page, committed: a segment."""
    page = capture(
        b"page %d" % number, wire=f"http://example.org/{number}", started_ms=1_767_225_600_000 + number
    )
    archive.append(page, UUID(int=number + 1, version=4))
    archive.commit()


def pages(store):
    """How often each page is in a sealed archive file."""
    found: Counter[int] = Counter()
    for name in [name for name in store.list("warc/") if compression_of(name)]:
        with store.open(name) as file:
            records = (record for record in read_records(file, name=name) if record.type == "response")
            found.update(int(record.url.rpartition("/")[2]) for record in records)
    return found


def once(*numbers):
    return dict.fromkeys(numbers, 1)


@pytest.fixture(params=["objects", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    """A store that cannot append: files that are taken for objects, and a real server."""
    return (
        PlainStore(DirectoryStore(tmp_path))
        if request.param == "objects"
        else request.getfixturevalue("bucket_at")()
    )


def test_what_is_put_behind_a_sealed_file_becomes_a_file_of_its_own(store, compression):
    asleep = writer(store, compression)
    append(asleep, 0)
    append(asleep, 1)
    recover_archives(store, "main", dead)
    assert pages(store) == once(0, 1)
    append(asleep, 2)
    append(asleep, 3)
    (found,) = recover_archives(store, "main", dead)
    assert found.writer == "w"
    assert pages(store) == once(0, 1, 2, 3)
    assert crawls_with_open_files(store) == []
    append(asleep, 4)
    recover_archives(store, "main", dead)
    assert pages(store) == once(0, 1, 2, 3, 4)
    names = [name.rpartition("/")[2] for name in store.list("warc/") if compression_of(name)]
    assert len(names) == 3
    assert all(name.startswith("main-w-00000") for name in names)
    assert verify_storage(store, LineProgress()).damage == ()


def test_a_writer_whose_file_was_sealed_stops_and_removes_nothing(tmp_path: Path, compression):
    store = PlainStore(DirectoryStore(tmp_path))
    asleep = writer(store, compression)
    append(asleep, 0)
    recover_archives(store, "main", dead)
    append(asleep, 1)
    with pytest.raises(Conflict, match=r"main-w-00000.* was published by another"):
        asleep.seal()
    recover_archives(store, "main", dead)
    assert pages(store) == once(0, 1)


def test_what_is_put_while_a_file_is_recovered_is_not_deleted(tmp_path: Path):
    """At every call of the recovery the writer, which lives after all, puts another page."""

    def run(at, watched):
        plain = PlainStore(DirectoryStore(tmp_path / str(at)))
        asleep = writer(plain)
        for number in range(3):
            append(asleep, number)
        watched.at, watched.what = at, lambda: append(asleep, 3)
        recover_archives(Stepping(plain.files, watched), "main", dead)
        recover_archives(plain, "main", dead)
        assert pages(plain) == once(0, 1, 2, *([3] if 0 < at <= watched.made else []))
        assert crawls_with_open_files(plain) == []
        assert verify_storage(plain, LineProgress()).damage == ()

    run(-1, counted := Watched())
    assert {"put", "put_file", "delete"} <= set(counted.calls)
    for at in range(1, counted.made + 1):
        run(at, Watched())


def test_killed_at_every_call_while_the_writer_goes_on_nothing_is_lost_or_sealed_twice(tmp_path: Path):
    def run(at, watched):
        plain = PlainStore(DirectoryStore(tmp_path / str(at)))
        asleep = writer(plain)
        append(asleep, 0)
        append(asleep, 1)

        def kill():
            raise Killed

        watched.at, watched.what = at, kill
        with suppress(Killed):
            recover_archives(Stepping(plain.files, watched), "main", dead)
        append(asleep, 2)
        recover_archives(plain, "main", dead)
        append(asleep, 3)
        recover_archives(plain, "main", dead)
        assert pages(plain) == once(0, 1, 2, 3)
        assert crawls_with_open_files(plain) == []
        assert verify_storage(plain, LineProgress()).damage == ()

    run(-1, counted := Watched())
    for at in range(1, counted.made + 1):
        run(at, Watched())


def test_two_recoveries_at_once_seal_everything_once(tmp_path: Path):
    """Another recovery runs at every call of the first, when the writer has put another page."""

    def run(at, watched):
        plain = PlainStore(DirectoryStore(tmp_path / str(at)))
        asleep = writer(plain)
        append(asleep, 0)

        def other():
            append(asleep, 1)
            recover_archives(plain, "main", dead)

        watched.at, watched.what = at, other
        recover_archives(Stepping(plain.files, watched), "main", dead)
        recover_archives(plain, "main", dead)
        assert pages(plain) == once(0, *([1] if 0 < at <= watched.made else []))
        assert verify_storage(plain, LineProgress()).damage == ()

    run(-1, counted := Watched())
    for at in range(1, counted.made + 1):
        run(at, Watched())


def test_lines_behind_a_sealed_log_are_sealed_as_well(tmp_path: Path):
    store = PlainStore(DirectoryStore(tmp_path))
    asleep = CrawlLogWriter(store, "main", writer="w")
    lines = [replace(LINE, url=f"http://example.org/{number}") for number in range(6)]

    def log(number):
        asleep.append(lines[number])
        asleep.commit()

    log(0)
    assert log_writer.recover_log(store, "main", dead) == 1
    log(1)
    assert log_writer.recover_log(store, "main", dead) == 1
    log(2)
    with pytest.raises(
        Conflict, match=r"main-w-00000\.jsonl\.zst was published by another process, with other lines"
    ):
        asleep.seal()
    assert log_writer.recover_log(store, "main", dead) == 1
    assert log_writer.recover_log(store, "main", dead) == 0
    assert list(log_line.lines(store, "main")) == lines[:3]
    assert list(store.list("open/")) == []
    assert verify_storage(store, LineProgress()).damage == ()


def test_a_log_that_is_recovered_while_its_writer_goes_on_loses_no_line(tmp_path: Path):
    def run(at, watched):
        plain = PlainStore(DirectoryStore(tmp_path / str(at)))
        asleep = CrawlLogWriter(plain, "main", writer="w")
        lines = [replace(LINE, url=f"http://example.org/{number}") for number in range(3)]
        for line in lines[:2]:
            asleep.append(line)
            asleep.commit()

        def goes_on():
            asleep.append(lines[2])
            asleep.commit()
            log_writer.recover_log(plain, "main", dead)

        watched.at, watched.what = at, goes_on
        log_writer.recover_log(Stepping(plain.files, watched), "main", dead)
        log_writer.recover_log(plain, "main", dead)
        expected = lines if 0 < at <= watched.made else lines[:2]
        assert sorted(line.url for line in log_line.lines(plain, "main")) == [line.url for line in expected]
        assert verify_storage(plain, LineProgress()).damage == ()

    run(-1, counted := Watched())
    for at in range(1, counted.made + 1):
        run(at, Watched())
