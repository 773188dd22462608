"""The whole job on a real S3 server: the dataset is that of a directory, and whatever is killed, nothing is lost."""

import os
from collections import Counter

import pyarrow.parquet as pq
import pytest

from demo.web import Web
from tests.end_to_end.conftest import TOML, User, kill_tree, wait_until
from tests.storage.s3server import BUCKET, running_server
from thresher.storage.s3.s3_store import S3Store

WORDS = ("run", "seeds.txt", "--scope", "host", "--workers", "2", "--out")
CONCURRENCY = 64
"""Leases that one worker may hold: what may be fetched again after a kill."""


@pytest.fixture(scope="module")
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture(scope="module")
def server(s3_keys, tmp_path_factory):
    """A server of its own: it is killed while other test processes use the shared one."""
    with running_server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(scope="module")
def undisturbed(web, tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed")
    (directory / "thresher.toml").write_text(TOML)
    (directory / "seeds.txt").write_text("\n".join(web.seeds))
    User(directory).run(*WORDS, "out")
    return rows((directory / "out").glob("data/shard-*.parquet"))


@pytest.fixture
def place(user, web, server, monkeypatch, tmp_path):
    """A project whose storage and dataset lie in a bucket; returns the storage."""
    prefix = os.urandom(6).hex()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (user.directory / "thresher.toml").write_text(
        TOML.replace("[project]", f'[project]\nstorage = "s3://{BUCKET}/{prefix}/data"')
    )
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    store = S3Store(BUCKET, prefix)
    yield store
    store.close()


def rows(shards):
    """Without addresses: of pages that are the same to a byte the first that came stands for all, and a kill may change which."""
    tables = [pq.read_table(shard) for shard in shards]
    return sorted((row["text"], tuple(row["input_ids"])) for t in tables for row in t.to_pylist())


def dataset(store):
    return rows(store.open(name) for name in store.list("out/data/shard-"))


def command(store):
    return (*WORDS, f"{store.uri}/out")


def any_of(store, prefix):
    return any(True for _ in store.list(prefix))


STAGES = {
    "crawling": lambda store, asked: asked() > 150 and any_of(store, "data/open/"),
    "writing shards": lambda store, asked: any_of(store, "out/"),
}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_everything_killed_and_run_again(user, web, place, server, undisturbed, stage):
    begun = len(web.log)

    def asked():
        return len(web.log) - begun

    process = user.start(*command(place))
    assert wait_until(lambda: STAGES[stage](place, asked), process), "it ended before it was killed"
    kill_tree(process)
    server.kill()
    server.start()
    before = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    user.run(*command(place))
    every = Counter((entry.host, entry.path) for entry in list(web.log)[begun:])
    twice = sum(every[page] - 1 for page in before if every[page] > 1)
    assert dataset(place) == undisturbed
    assert twice <= 2 * CONCURRENCY * (stage == "crawling")
    assert not any_of(place, "data/open/")
    assert user.run("verify", "--json").json["damage"] == []


@pytest.mark.slow
def test_the_server_killed_and_restarted_under_way_is_waited_for(user, web, place, server, undisturbed):
    begun = len(web.log)
    process = user.start(*command(place))
    for stage in STAGES.values():
        assert wait_until(lambda stage=stage: stage(place, lambda: len(web.log) - begun), process)
        server.kill()
        server.start()
    assert process.wait(180) == 0
    assert dataset(place) == undisturbed


def test_a_bucket_that_is_not_there_is_one_line(user, place, server):
    toml = (user.directory / "thresher.toml").read_text()
    (user.directory / "thresher.toml").write_text(toml.replace(BUCKET, "no-such-bucket"))
    assert "no-such-bucket" in user.run("status", code=2).line
