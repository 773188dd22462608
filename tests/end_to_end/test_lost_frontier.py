"""The frontier's server is gone with all that it knew, in the middle of a crawl: nothing that is archived is fetched again."""

import os
import shutil
from collections import Counter

import pytest

from demo.web import Web
from tests.end_to_end.conftest import TOML, kill_tree, wait_until
from tests.storage.s3server import BUCKET
from thresher.storage.crawllog import log_line
from thresher.storage.location import open_store as storage_at
from thresher.storage.warc.records import read_records

CONCURRENCY = 64


@pytest.fixture(scope="module")
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture(params=["a directory", "a bucket"])
def storage(request, monkeypatch, tmp_path):
    if request.param == "a directory":
        return "file:data"
    server = request.getfixturevalue("server")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return f"s3://{BUCKET}/{os.urandom(6).hex()}/data"


def archived(store):
    """Addresses of all pages in sealed files."""
    found = set()
    for name in store.list("warc/main/"):
        if name.endswith(".warc.gz"):
            with store.open(name) as file:
                found |= {
                    record.url
                    for record in read_records(file, name=name)
                    if record.type in {"response", "revisit"} and not record.url.endswith("/robots.txt")
                }
    return found


@pytest.mark.slow
def test_a_crawl_whose_frontier_was_lost_is_crawled_to_its_end(user, web, storage):
    (user.directory / "thresher.toml").write_text(
        TOML.replace("[project]", f'[project]\nstorage = "{storage}"')
    )
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    user.run("seed", "seeds.txt", "--scope", "host")
    begun = len(web.log)
    process = user.start("crawl", "main", "--workers", "2")
    assert wait_until(lambda: len(web.log) - begun > 150, process)
    kill_tree(process)
    shutil.rmtree(user.directory / ".thresher")

    refused = user.run("crawl", "main", code=2)
    assert "the frontier does not know it" in refused.line
    assert "thresher frontier rebuild main" in refused.line
    said = user.run("frontier", "rebuild", "main", "--json").json
    store = storage_at(storage, user.directory)
    kept = archived(store)
    assert said["no_log"] == 0
    assert sum(said["outcomes"].values()) >= len(kept) > 10
    assert said["waiting"] > 0

    before = len(web.log)
    user.run("seed", "seeds.txt", "--scope", "host")  # those that were not fetched
    assert user.run("crawl", "main", "--workers", "2", "--json").json["drained"]
    again = {f"http://{entry.host}{entry.path}" for entry in web.log[before:]}
    assert {url for url in again if not url.endswith("/robots.txt")}.isdisjoint(kept)
    final = Counter(line.url for line in log_line.lines(store, "main") if line.is_final)
    assert set(final) >= kept


@pytest.mark.slow
def test_a_second_project_on_the_same_server_is_told_whose_the_crawl_is(user, web, tmp_path):
    from thresher.frontier.link.embedded import embedded_server

    with embedded_server(tmp_path / "shared") as redis:
        text = TOML.replace("[project]", f'[project]\nredis = "{redis}"')
        (user.directory / "thresher.toml").write_text(text)
        other = type(user)(tmp_path / "other")
        other.directory.mkdir()
        (other.directory / "thresher.toml").write_text(text)
        user.run("seed", web.seeds[0])
        for words in (("seed", web.seeds[0]), ("crawl", "main"), ("frontier", "hold", "main", "example.org")):
            line = other.run(*words, code=2).line
            assert str(user.directory / "data") in line
            assert str(other.directory / "data") in line
        assert "in another storage" in other.run("status").out
        other.run("seed", web.seeds[0], "--crawl", "theirs")
