"""The log of a crawl in the order of time, and followed while it grows: each line once, whatever is sealed meanwhile."""

import random
from pathlib import Path

import pytest

from tests.expect import expect
from thresher.storage.archive.local_open_file import LocalOpenFile
from thresher.storage.crawllog.log_line import LogLine
from thresher.storage.crawllog.log_reader import LogFollower, has_log, read_in_order
from thresher.storage.crawllog.log_writer import CrawlLogWriter, recover_log
from thresher.storage.directory_store import DirectoryStore


def line(time_ms):
    return LogLine(time_ms=time_ms, url=f"http://a.test/{time_ms}", kind="page", outcome="fetched")


def times(lines):
    return [each.time_ms for each in lines]


@pytest.fixture(params=["files", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path):
    return DirectoryStore(tmp_path) if request.param == "files" else request.getfixturevalue("bucket_at")()


def test_a_crawl_without_a_log_has_no_line(store):
    assert not has_log(store, "c")
    assert list(read_in_order(store, "c")) == []
    assert LogFollower(store, "c").poll() == []


def test_lines_of_several_writers_are_in_the_order_of_time(store):
    one, other = (CrawlLogWriter(store, "c", writer=writer) for writer in ("one", "other"))
    for start in range(0, 40, 10):  # each writes four files; the last of them stay open
        for log, offset in ((one, 0), (other, 5)):
            for n in range(10):
                log.append(line(1_000 * (start + n) + offset))
            log.commit() if start == 30 else log.seal()
    assert has_log(store, "c")
    found = times(read_in_order(store, "c"))
    assert found == sorted(found)
    assert len(found) == len(set(found)) == 80


def test_one_who_follows_sees_each_line_once_whatever_is_sealed_meanwhile(store):
    chance, written, seen = random.Random(7), 0, []
    logs = [CrawlLogWriter(store, "c", writer=f"w{n}") for n in range(3)]
    logs[0].append(line(10**9))
    logs[0].commit()
    follower = LogFollower(store, "c")
    assert times(follower.last_lines(10)) == [10**9]
    for _ in range(60):
        log = chance.choice(logs)
        match chance.choice(["append", "append", "commit", "seal", "poll"]):
            case "append":
                written += 1
                log.append(line(written))
            case "commit":
                log.commit()
            case "seal":
                log.seal()
            case "poll":
                seen += follower.poll()
    for log in logs:
        log.seal()
    seen += follower.poll()
    assert sorted(times(seen)) == list(range(1, written + 1))
    assert follower.poll() == []


def test_of_what_was_there_before_the_newest_is_shown(store):
    log = CrawlLogWriter(store, "c", writer="w")
    for n in range(20):
        log.append(line(n))
    log.commit()
    follower = LogFollower(store, "c")
    assert times(follower.last_lines(3)) == [17, 18, 19]
    assert follower.poll() == []


def test_what_a_crash_left_between_lines_is_passed_over_also_behind_the_seal(tmp_path: Path):
    store = DirectoryStore(tmp_path)
    log = CrawlLogWriter(store, "c", writer="w")
    log.append(line(1))
    log.commit()
    follower = LogFollower(store, "c")
    (path,) = (tmp_path / "log" / "c" / ".open").iterdir()
    with path.open("ab") as file:
        file.write(b'{"time": "torn\n')
    assert follower.poll() == []
    expect(LocalOpenFile, log._open)._file.close()  # its writer is dead
    assert recover_log(store, "c", lambda _: True) == 1
    assert follower.poll() == []
    assert times(read_in_order(store, "c")) == [1]
