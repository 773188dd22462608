"""SIGKILL of every process at every stage, and the same command again: the same dataset, nothing fetched twice."""

import signal
from collections import Counter

import pyarrow.parquet as pq
import pytest

from demo.web import Web
from tests.end_to_end.conftest import kill_tree, wait_until

COMMAND = ("run", "seeds.txt", "--out", "out", "--scope", "host", "--workers", "2")
CONCURRENCY = 64
"""Leases that one worker may hold: what may be fetched again after a kill."""
STAGES = {
    "early in the crawl": lambda d, asked: asked() > 30,
    "late in the crawl": lambda d, asked: asked() > 200,
    "processing": lambda d, asked: any((d / "data" / "documents").rglob("*.parquet")),
    "deduplicating": lambda d, asked: any((d / "data" / "manifests" / "process").rglob("*.json")),
    "writing shards": lambda d, asked: (d / "out" / "recipe.json").exists(),
}


@pytest.fixture(scope="module")
def web():
    with Web().serve() as serving:
        yield serving


def dataset(directory):
    """Without addresses: of pages that are the same to a byte the first that came stands for all, and a kill may change which."""
    tables = [pq.read_table(path) for path in sorted((directory / "out").glob("data/shard-*.parquet"))]
    return sorted((row["text"], tuple(row["input_ids"])) for t in tables for row in t.to_pylist())


@pytest.fixture(scope="module")
def undisturbed(web, tmp_path_factory):
    from tests.end_to_end.conftest import TOML, User

    directory = tmp_path_factory.mktemp("undisturbed")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "seeds.txt").write_text("\n".join(web.seeds))
    User(directory).run(*COMMAND)
    return dataset(directory)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_killed_and_run_again(user, web, undisturbed, stage):
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    begun = len(web.log)

    def asked():
        return len(web.log) - begun

    process = user.start(*COMMAND)
    assert wait_until(lambda: STAGES[stage](user.directory, asked), process), "it ended before it was killed"
    kill_tree(process)
    before = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    user.run(*COMMAND)
    every = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    twice = sum(every[page] - 1 for page in before if every[page] > 1)
    assert dataset(user.directory) == undisturbed
    assert twice <= 2 * CONCURRENCY
    if stage not in {"early in the crawl", "late in the crawl"}:
        assert twice == 0


@pytest.mark.slow
def test_interrupted_while_crawling_it_drains_and_the_same_command_finishes(user, web, undisturbed):
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    begun = len(web.log)
    process = user.start(*COMMAND)
    assert wait_until(lambda: len(web.log) - begun > 30, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert not (user.directory / "out").exists()
    assert list((user.directory / "data" / "warc" / "main").glob(".open/*")) == []
    before = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    user.run(*COMMAND)
    every = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    assert [page for page in before if every[page] > 1] == []
    assert dataset(user.directory) == undisturbed
