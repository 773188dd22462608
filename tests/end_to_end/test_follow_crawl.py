"""Continuous processing: what a crawl seals is processed while it runs, and a step that stalls holds the crawl."""

import signal
import time

import psutil
import pyarrow.parquet as pq
import pytest

from demo.web import Web
from tests.end_to_end.conftest import TOML, CallingUser, wait_until

LIMIT = 60_000


@pytest.fixture
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture
def seeded(user, web):
    (user.directory / "thresher.toml").write_text(
        TOML.replace("[crawler]", f'[crawler]\nmax_backlog = "{LIMIT}B"')
    )
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    CallingUser(user.directory).run("seed", "seeds.txt", "--scope", "host")
    return user


def source(user):
    (found,) = CallingUser(user.directory).run("status", "--json").json["sources"]
    return found


def texts(user):
    """Every document's record and text."""
    return sorted(
        (row["url"], row["text"])
        for path in (user.directory / "data" / "documents").rglob("*.parquet")
        for row in pq.read_table(path, columns=["url", "text"]).to_pylist()
    )


def tree(process):
    """A command and its workers; the server of the frontier, which it may have begun for all, is none."""
    parent = psutil.Process(process.pid)
    return [*(each for each in parent.children(recursive=True) if "python" in each.name()), parent]


def archived_bytes(user):
    return sum(path.stat().st_size for path in (user.directory / "data" / "warc").rglob("*.warc.gz"))


@pytest.mark.slow
def test_a_crawl_is_processed_while_it_runs_and_the_follower_ends_with_it(seeded):
    follower = seeded.start("process", "main", "--follow", "--workers", "1")
    crawled = CallingUser(seeded.directory).run("crawl", "main", "--json").json
    assert follower.wait(120) == 0
    found = source(seeded)
    assert crawled["drained"]
    assert found["archived"] == found["processed"] > 300
    assert found["flow"] is None
    assert found["files"] > 1
    followed = texts(seeded)
    CallingUser(seeded.directory).run("process", "main", "--redo")
    assert texts(seeded) == followed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stalled_step_holds_the_crawl_and_nothing_is_lost(seeded, web):
    follower = seeded.start("process", "main", "--follow", "--workers", "1")
    assert wait_until(lambda: (source(seeded)["flow"] or {}).get("limit") == LIMIT, follower)
    # The driver goes first: a worker that is stopped has nobody to complain to.
    for each in reversed(tree(follower)):
        each.suspend()
    crawl = seeded.start("crawl", "main", "--json")
    assert wait_until(lambda: source(seeded)["waits"].startswith("crawl for process"), crawl)
    time.sleep(5)
    before, asked = archived_bytes(seeded), len(web.log)
    memory = sum(each.memory_info().rss for each in tree(crawl))
    time.sleep(15)
    assert (archived_bytes(seeded), len(web.log)) == (before, asked)
    assert sum(each.memory_info().rss for each in tree(crawl)) < memory * 1.05
    for each in tree(follower):
        each.send_signal(signal.SIGCONT)
    assert crawl.wait(300) == 0  # where the machine is busy, hosts answer late and are asked more seldom
    assert follower.wait(120) == 0
    found = source(seeded)
    assert found["frontier"]["drained"]
    assert found["archived"] == found["processed"]
    assert web.expected.pages <= archived_urls(seeded)


def archived_urls(user):
    """Every URL that a verdict was made of or that has a document."""
    from warcio.archiveiterator import ArchiveIterator

    found = set()
    for path in (user.directory / "data" / "warc").rglob("*.warc.gz"):
        with path.open("rb") as stream:
            found |= {
                record.rec_headers.get_header("WARC-Target-URI")
                for record in ArchiveIterator(stream)
                if record.rec_type in {"response", "revisit"}
            }
    return found


def test_a_follower_of_nothing_is_told_so_in_one_line(calling_user):
    assert "no such crawl or ingest" in calling_user.run("process", "nothing", "--follow", code=2).line
