"""What operators do with the JSON API is logged, and refused in one line where it is wrong."""

import pytest


def test_a_fleet_is_shown_paused_and_resumed(site, served):
    from tests.pipeline.crawl_projects import ask

    usual = {"crawler": 2, "processor": 1, "exporter": 0}
    lease = ask(
        site.project, lambda frontier: frontier.fleet.begin("c1", ttl_ms=60_000, version="v", usual=usual)
    )
    served.run(served.console.sample())
    fleet = served.api("/api/crawls/main/workers").json["fleet"]
    assert (fleet["controller"], fleet["crawlers"], fleet["is_paused"]) == ("c1", 2, False)
    assert served.post_json("/api/crawls/main/pause-fleet", {}).json["message"] == "the fleet is paused"
    assert served.api("/api/crawls/main/workers").json["fleet"]["is_paused"]
    assert served.post_json("/api/crawls/main/scale-fleet", {"kind": "crawler", "number": 5}).status == 200
    assert served.post_json("/api/crawls/main/resume-fleet", {}).status == 200
    fleet = served.api("/api/crawls/main/workers").json["fleet"]
    assert (fleet["crawlers"], fleet["is_paused"]) == (5, False)
    page = served.get("/crawls/main").text
    assert "5 crawlers, 1 processor and 0 exporters should run" in page
    ask(site.project, lambda frontier: frontier.fleet.stop())
    served.run(served.console.sample())
    assert "The fleet is stopping." in served.get("/crawls/main").text
    ask(site.project, lambda frontier: frontier.fleet.release(lease, forget_numbers=True))
    served.run(served.console.sample())
    page = served.get("/crawls/main").text
    assert "The fleet is stopped." in page
    assert "No controller runs" not in page


@pytest.mark.parametrize(
    ("action", "values"),
    [
        ("hold", {}),
        ("hold", {"host": "a b"}),
        ("hold", {"host": "a.test", "duration": "soon"}),
        ("hold", {"host": "a.test", "nothing": 1}),
        ("drop", {"scope": "everything"}),
        ("settings", {"min_delay_s": -1}),
        ("settings", {}),
        ("rescrape", {"scope": "moon"}),
        ("rescrape", {"max_age": "999999999d"}),
        ("rescrape", {"budget": 10**30, "domains": "nowhere.test"}),
        ("scale-fleet", {"kind": "pilot", "number": 1}),
        ("scale-fleet", {"kind": "exporter", "number": 1}),  # fleet.export_out is not set
    ],
)
def test_wrong_values_are_refused_in_one_line(served, action, values):
    answer = served.post_json(f"/api/crawls/main/{action}", values)
    assert answer.status == 400
    assert answer.json["error"]
    assert "\n" not in answer.json["error"]


def test_an_action_that_cannot_be_logged_is_not_done(site, served, monkeypatch):
    from pathlib import Path

    host = site.server.address
    monkeypatch.setattr(served.console.actions.log, "path", Path("/proc/nobody/log"))
    answer = served.post_json("/api/crawls/main/hold", {"host": host})
    assert (answer.status, "cannot be logged" in answer.json["error"]) == (503, True)
    assert served.api(f"/api/crawls/main/hosts/{host}").json["hold"] is None


def test_a_full_disk_neither_lets_an_action_begin_nor_spoils_the_log(site, served, monkeypatch, tmp_path):
    import os

    host, log = site.server.address, served.console.actions.log
    monkeypatch.setattr(log, "path", tmp_path / "log")
    with monkeypatch.context() as full:
        write = os.write
        full.setattr(os, "write", lambda file, line: write(file, line[: max(len(line) // 2, 1)]))
        answer = served.post_json("/api/crawls/main/hold", {"host": host})
    assert (answer.status, "No space left" in answer.json["error"]) == (503, True)
    assert served.api(f"/api/crawls/main/hosts/{host}").json["hold"] is None
    assert served.post_json("/api/crawls/main/resume", {"host": host}).status == 200
    assert [each.action for each in log.newest()] == ["resume"]


def test_an_action_that_is_done_is_never_said_not_to_be(site, served, monkeypatch):
    from thresher.core import Unavailable

    append = served.console.actions.log.append

    def fail_at_the_end(record):
        if record.state != "begun":
            raise Unavailable("the disk is full; an action that cannot be logged is not done")
        append(record)

    monkeypatch.setattr(served.console.actions.log, "append", fail_at_the_end)
    answer = served.post_json("/api/crawls/main/resume", {"host": site.server.address})
    assert answer.status == 200
    assert "is crawled again" in answer.json["message"]


def test_an_action_that_a_dead_frontier_stops_may_be_tried_again(site, served, monkeypatch):
    from thresher.core import Unavailable
    from thresher.pipeline.crawls import operator_commands

    def fail(*_):
        raise Unavailable("Redis does not answer")

    monkeypatch.setattr(operator_commands, "resume", fail)
    answer = served.post_json("/api/crawls/main/resume", {"host": site.server.address})
    assert (answer.status, answer.json["error"]) == (503, "Redis does not answer")


def test_the_log_of_actions_is_for_its_user_alone(served):
    served.post_json("/api/crawls/main/resume", {"host": "nobody.test"})
    assert served.console.actions.log.path.stat().st_mode & 0o777 == 0o600
    newest = served.api("/api/actions").json[0]
    assert (newest["action"], newest["state"]) == ("resume", "failed")
