"""`thresher fleet start --ray` on a real cluster of local nodes: adopted, rolled to another version, moved off dead nodes."""

import json
import os
import subprocess
import sys

import pytest

from demo.web import Web
from tests.pipeline import raycluster  # before anything imports Ray
from thresher.frontier.link.embedded import embedded_server

from tests.end_to_end.conftest import ROOT, TOML, CallingUser  # isort: skip
from tests.end_to_end.fleet_user import (  # isort: skip
    START,
    archived,
    fleet_status,
    least_gap_s,
    log,
    running,
    stop,
    wait_for,
)

DELAY_S = 0.5
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with raycluster.cluster(3, cpus=2) as nodes:
        yield nodes


@pytest.fixture
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture
def seeded(user, web, tmp_path):
    slow = TOML.replace("min_delay = 0.0", f"min_delay = {DELAY_S}\nmin_ip_delay = 0.0")
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    with embedded_server(tmp_path / "redis") as address:  # one that outlives controllers
        (user.directory / "thresher.toml").write_text(
            slow.replace("[project]", f'[project]\nredis = "{address}"')
        )
        CallingUser(user.directory).run("seed", "seeds.txt", "--scope", "host")
        yield user


def start_on_ray(user, nodes, **options):
    with (user.directory / "killed.log").open("a") as output:
        return subprocess.Popen(
            [sys.executable, "-c", START, json.dumps({"ray": nodes.address, **options})],
            env={**os.environ, **user.environment, "PYTHONPATH": str(ROOT)},
            cwd=user.directory,
            stdout=output,
            stderr=output,
        )


def names(user, kind):
    return {each["name"] for each in running(user, kind)}


def test_a_fleet_outlives_its_controller_loses_a_node_changes_its_version_and_gets_every_page_once(
    seeded, web, nodes
):
    first = start_on_ray(seeded, nodes)
    wait_for(lambda: running(seeded, "crawler") and running(seeded, "processor") and len(web.log) > 10)
    crawlers, processors = names(seeded, "crawler"), names(seeded, "processor")

    # Killed, its members go on, and the next controller continues with them.
    first.kill()
    first.wait()
    asked = len(web.log)
    wait_for(lambda: len(web.log) > asked + 5)
    second = start_on_ray(seeded, nodes)
    wait_for(lambda: fleet_status(seeded)["controller"] and fleet_status(seeded)["as_wanted"])
    assert (names(seeded, "crawler"), names(seeded, "processor")) == (crawlers, processors)

    # A node dies with a member; another joins.
    CallingUser(seeded.directory).run("fleet", "scale", "main", "--crawlers", "3")
    wait_for(lambda: len(running(seeded, "crawler")) == 3)
    nodes.kill("ray::Member")
    nodes.add()
    wait_for(lambda: any(each["restarts"] for each in fleet_status(seeded)["members"]))
    wait_for(lambda: fleet_status(seeded)["as_wanted"])

    # Another configuration is another version: one member after the other is replaced, and no lease is lost.
    second.kill()
    second.wait()
    before = fleet_status(seeded)["wanted"]["version"]
    text = (seeded.directory / "thresher.toml").read_text()
    (seeded.directory / "thresher.toml").write_text(text.replace("[crawler]", "[crawler]\ntimeout = 29"))
    third = start_on_ray(seeded, nodes, until_drained=True)

    def is_rolled():
        state = fleet_status(seeded)
        kinds = [each for each in state["members"] if each["state"] == "running"]
        return (
            state["wanted"]["version"] != before
            and kinds
            and all(each["version"] == state["wanted"]["version"] for each in kinds)
        )

    wait_for(is_rolled)
    assert third.wait(600) == 0, log(seeded)
    (source,) = CallingUser(seeded.directory).run("status", "--json").json["sources"]
    assert source["frontier"]["drained"]
    assert source["archived"] == source["processed"]
    found = archived(seeded)
    assert web.expected.pages <= found.keys()
    assert {url: number for url, number in found.items() if number > 1} == {}
    assert least_gap_s(web.log) >= DELAY_S
    CallingUser(seeded.directory).run("verify")


def test_on_sigterm_with_keep_workers_they_stay_and_without_it_they_drain(seeded, web, nodes):
    first = start_on_ray(seeded, nodes, keeps_members=True)
    wait_for(lambda: running(seeded, "crawler") and running(seeded, "processor"))
    kept = names(seeded, "crawler")
    assert stop(first) == 0
    asked = len(web.log)
    wait_for(lambda: len(web.log) > asked)
    second = start_on_ray(seeded, nodes)
    wait_for(lambda: fleet_status(seeded)["controller"])
    assert names(seeded, "crawler") == kept
    assert stop(second) == 0
    assert fleet_status(seeded)["members"] == []
    assert CallingUser(seeded.directory).run("status", "--json").json["sources"][0]["frontier"]["leased"] == 0
