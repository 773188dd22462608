"""Committed lines of the crawl's log survive any crash, are sealed like an archive, and any JSON tool reads them."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.plain_store import PlainStore
from thresher.core import CorruptData
from thresher.storage.crawllog import log_line, log_writer
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.crawllog.log_writer import CrawlLogWriter
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import load_manifest, manifest_name

LINE = LogLine(
    time_ms=1_767_225_600_123,
    url="http://example.org/a",
    kind="page",
    outcome="fetched",
    status=200,
    referrer="http://example.org/",
    bytes=1234,
    ms=56,
    record="urn:uuid:6d3c0a1e-0000-4000-8000-000000000000",
    file="warc/main/main-w-00000.warc.gz",
    offset=789,
    request={"scope": "host:example.org", "depth": 1},
)
FAILED = LogLine(
    time_ms=1_767_225_601_000,
    url="http://gone.example/",
    kind="page",
    outcome="failed",
    reason="dns",
    bytes=0,
)
ROBOTS = LogLine(
    time_ms=1, url="http://example.org/robots.txt", kind="robots", outcome="fetched", reason="allow"
)


@pytest.fixture(params=["directory", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    files = DirectoryStore(tmp_path)
    return files if request.param == "directory" else PlainStore(files)


def written(store, *lines, writer="w", **options):
    log = CrawlLogWriter(store, "main", writer=writer, **options)
    for line in lines:
        log.append(line)
    log.commit()
    return log


def numbered(number):
    return replace(LINE, url=f"http://example.org/{number}", time_ms=LINE.time_ms + number)


def test_a_line_is_json_that_says_who_asked_what_and_what_came():
    assert json.loads(log_line.encode(LINE)) == {
        "time": "2026-01-01T00:00:00.123Z",
        "url": "http://example.org/a",
        "kind": "page",
        "outcome": "fetched",
        "reason": "",
        "status": 200,
        "referrer": "http://example.org/",
        "bytes": 1234,
        "ms": 56,
        "record": "urn:uuid:6d3c0a1e-0000-4000-8000-000000000000",
        "file": "warc/main/main-w-00000.warc.gz",
        "offset": 789,
        "request": {"scope": "host:example.org", "depth": 1},
    }
    assert json.loads(log_line.encode(FAILED)) == {
        "time": "2026-01-01T00:00:01.000Z",
        "url": "http://gone.example/",
        "kind": "page",
        "outcome": "failed",
        "reason": "dns",
        "referrer": "",
        "bytes": 0,
        "request": {},
    }


texts = st.text(max_size=30)


@given(
    st.builds(
        LogLine,
        time_ms=st.integers(0, 253_402_300_799_999),
        url=texts,
        kind=st.sampled_from(["page", "robots"]),
        outcome=texts,
        reason=texts,
        status=st.none() | st.integers(0, 999),
        referrer=texts,
        bytes=st.none() | st.integers(0, 1 << 40),
        ms=st.none() | st.integers(0, 1 << 30),
        attempt=st.integers(0, 9),
        request=st.dictionaries(texts, texts | st.integers() | st.booleans(), max_size=3),
    )
)
def test_a_line_is_read_as_it_was_written(line):
    text = log_line.encode(line)
    assert text.count(b"\n") == 1
    assert log_line.decode(text) == line


def test_what_is_committed_is_read_while_the_file_is_open_and_when_it_is_sealed(store):
    log = written(store, LINE, FAILED)
    log.append(ROBOTS)
    assert list(log_line.lines(store, "main")) == [LINE, FAILED]
    manifest = log.seal()
    assert list(log_line.lines(store, "main")) == [LINE, FAILED, ROBOTS]
    (name,) = log_line.files(store, "main")
    assert name == "log/main/main-w-00000.jsonl.zst"
    assert load_manifest(store, manifest_name("log", "main/main-w-00000")) == manifest
    assert (manifest.outputs[0].rows, manifest.counts) == (3, {"fetched": 1, "failed:dns": 1})
    assert manifest.recipe["archives"] == ["warc/main/main-w-00000.warc.gz"]
    unpacked = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(store.read(name))).read()
    assert [json.loads(line)["url"] for line in unpacked.splitlines()] == [LINE.url, FAILED.url, ROBOTS.url]


def test_nothing_is_sealed_where_nothing_was_said(store):
    assert written(store).seal() is None
    assert log_writer.put(store, "main", "main-x-00000", []) is None
    assert list(store.list()) == []


def test_one_file_follows_the_other_when_it_is_large_or_old(store):
    now = [0.0]
    log = written(store, LINE, max_bytes=500, max_age_s=60, clock=lambda: now[0])
    assert not log.is_due
    now[0] = 60.0
    assert log.is_due
    log.seal()
    for number in range(2):
        log.append(numbered(number))
    log.commit()
    assert log.is_due
    log.seal()
    names = list(log_line.files(store, "main"))
    assert [name[-15:] for name in names] == ["00000.jsonl.zst", "00001.jsonl.zst"]
    assert [line.url[-1] for line in log_line.lines(store, "main")] == ["a", "0", "1"]


def test_recovery_seals_a_dead_writers_file_once_and_leaves_a_living_ones(tmp_path: Path):
    store = PlainStore(DirectoryStore(tmp_path))
    written(store, LINE, FAILED, writer="dead")
    assert log_writer.open_writers(store, "main") == {"dead"}
    living = written(store, ROBOTS, writer="alive")
    for sealed in (1, 0):
        assert log_writer.recover_log(store, "main", {"dead"}.__contains__) == sealed
    living.append(LINE)
    living.seal()
    assert [name.rpartition("/")[2] for name in log_line.files(store, "main")] == [
        "main-alive-00000.jsonl.zst",
        "main-dead-00000.jsonl.zst",
    ]
    assert list(log_line.read(store, "log/main/main-dead-00000.jsonl.zst")) == [LINE, FAILED]


def test_a_file_that_its_writer_holds_is_left_alone_in_a_directory(tmp_path: Path):
    store = DirectoryStore(tmp_path)
    log = written(store, LINE)
    assert log_writer.recover_log(store, "main", lambda _: True) == 0
    log.append(FAILED)
    log.seal()
    assert list(log_line.lines(store, "main")) == [LINE, FAILED]


def test_a_torn_line_of_a_machine_that_lost_power_is_passed_over(tmp_path: Path):
    store = DirectoryStore(tmp_path)
    open_files = store.path("log/main") / ".open"
    open_files.mkdir(parents=True)
    whole, other = log_line.encode(LINE), log_line.encode(FAILED)
    (open_files / "main-w-00000.jsonl").write_bytes(whole + b"\0" * 40 + b"\n" + other + whole[:30])
    assert list(log_line.lines(store, "main")) == [LINE, FAILED]
    assert log_writer.recover_log(store, "main", lambda _: True) == 1
    assert list(log_line.lines(store, "main")) == [LINE, FAILED]
    assert list(open_files.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut by 1", "cut by 60", "a bit flipped"])
def test_a_sealed_file_that_is_damaged_is_an_error_that_names_it(store, damage):
    written(store, *map(numbered, range(100))).seal()
    (name,) = log_line.files(store, "main")
    data = store.read(name)
    store.delete(name)
    cut = int(damage.rpartition(" ")[2]) if damage.startswith("cut") else 0
    store.put(name, data[:-cut] if cut else bytes((*data[:99], data[99] ^ 4, *data[100:])))
    with pytest.raises(CorruptData, match=name):
        list(log_line.read(store, name))


def test_a_seal_that_failed_is_made_up_for(store, monkeypatch: pytest.MonkeyPatch):
    log = written(store, LINE)

    def fails(*_):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(log_writer, "digest", fails)
        with pytest.raises(OSError, match="no room"):
            log.seal()
    log.append(FAILED)
    assert log.seal().counts == {"fetched": 1, "failed:dns": 1}
    assert list(log_line.lines(store, "main")) == [LINE, FAILED]
