"""A crawl whose frontier is on a cluster, as a user types it: a master dies, and nobody notices."""

from collections import Counter

import pytest

from tests.end_to_end.conftest import TOML, wait_until
from tests.frontier.valkey_cluster import valkey_cluster
from tests.served_webs import demo_web  # noqa: F401 - a fixture

COMMANDS = (("seed", "seeds.txt", "--scope", "host"), ("crawl", "--workers", "2"))


def pages(hits):
    return Counter((hit.host, hit.path) for hit in hits if hit.path != "/robots.txt")


@pytest.mark.slow
def test_a_master_dies_under_a_crawl_and_every_page_is_fetched_once(user, demo_web, tmp_path):
    (user.directory / "seeds.txt").write_text("\n".join(demo_web.seeds))
    for command in COMMANDS:
        user.run(*command)
    undisturbed = pages(demo_web.log)
    begun = len(demo_web.log)
    with valkey_cluster(tmp_path / "cluster") as cluster:
        nodes = ",".join(cluster.addresses[:3])
        (user.directory / "thresher.toml").write_text(
            TOML.replace("[project]", f'[project]\nredis = "{nodes}"\nstorage = "file:again"')
        )
        user.run(*COMMANDS[0])
        process = user.start(*COMMANDS[1])
        assert wait_until(lambda: len(demo_web.log) - begun > 60, process)
        cluster.master_of(0).kill()
        assert process.wait() == 0, (user.directory / "killed.log").read_text()
        assert user.run("status", "--json").json
    assert pages(list(demo_web.log)[begun:]) == undisturbed
