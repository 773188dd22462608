"""Somebody empties the Redis server in the middle of a job: an error that says so, and no dataset of what was there."""

import pytest
from redis import Redis

from demo.web import Web
from tests.end_to_end.conftest import TOML, wait_until
from thresher.frontier.link.embedded import embedded_server


@pytest.mark.slow
def test_a_job_whose_server_is_emptied_ends_with_an_error_and_exports_nothing(user, tmp_path):
    with Web().serve() as web, embedded_server(tmp_path / "shared") as redis:
        text = TOML.replace("[project]", f'[project]\nredis = "{redis}"')
        (user.directory / "thresher.toml").write_text(text)
        (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
        process = user.start("run", "seeds.txt", "--out", "out", "--scope", "host", "--workers", "2")
        assert wait_until(lambda: len(web.log) > 100, process)
        Redis.from_url(redis).flushall()
        assert process.wait(60) == 1
        said = (user.directory / "killed.log").read_text()
        assert "crawl main: its frontier is gone" in said
        assert "`thresher frontier rebuild main`" in said
        assert "Traceback" not in said
        assert not list((user.directory / "out").rglob("*"))

        assert "`thresher frontier rebuild main`" in user.run("crawl", "main", code=2).line
        assert "main" in user.run("run", "seeds.txt", "--out", "out", "--scope", "host", code=2).line
        assert not list((user.directory / "out").rglob("*"))
        asked = {(entry.host, entry.path) for entry in web.log}
        user.run("frontier", "rebuild", "main")
        user.run("seed", "seeds.txt", "--scope", "host")
        before = len(web.log)
        assert user.run("crawl", "main", "--json").json["drained"]
        again = {(entry.host, entry.path) for entry in web.log[before:]} & asked
        assert len({path for _, path in again} - {"/robots.txt"}) <= 2 * 64  # what was under way
