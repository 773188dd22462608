"""The compose file and the units, run for real as processes on loopback (`tests.deploy.topology`): a crawl is drained and
started again, backed up and restored by the lines of the guide, and finished by a unit of systemd.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.deploy.programs import DEPLOY, ROOT, needed_program
from tests.deploy.topology import SERVERS, SITE, Topology, network_namespace
from thresher.pipeline.commands.app import app

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PAGES = 200
GUIDE = (ROOT / "docs/guides/operations.md").read_text()
HAS_CONSOLE = "serve" in {command.name for command in app.registered_commands}
HAS_FLEET = "fleet" in {group.name for group in app.registered_groups}


def guide_blocks(heading):
    """Return the shell lines of a section of the guide."""
    section = re.split(r"^## ", GUIDE, flags=re.MULTILINE)
    (text,) = (each for each in section if each.startswith(f"{heading}\n"))
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("topology")


@pytest.fixture(scope="module")
def holder():
    for program in ("haproxy", "weed"):
        needed_program(program)
    process = network_namespace()
    if process is None:
        pytest.skip("this user may not make namespaces, or there is no `ip`, `nsenter` or `setpriv`")
    yield process
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def site(holder, home):
    """A site of 200 pages inside the network of the services. Yield the file that lists every request."""
    log = home / "requests"
    host, port = map(str, SITE)
    inside = [
        "nsenter",
        f"--net=/proc/{holder.pid}/ns/net",
        sys.executable,
        str(ROOT / "tests/deploy/site.py"),
        host,
        port,
    ]
    log.touch()
    process = subprocess.Popen([*inside, str(PAGES), str(log)])
    yield log
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def topology(holder, home, site):
    """The servers of the compose file. The crawl may ask this machine's loopback addresses, without delay."""
    made = Topology(home / "first")
    made.home.mkdir()
    made.make(holder.pid)
    adapt(made)
    for service in SERVERS:
        made.up(service)
    yield made
    made.down()


def adapt(topology):
    """Let the crawl ask this machine's loopback addresses. Without `thresher fleet`, the fleet is a crawl."""
    configuration = topology.compose / "secrets/thresher.toml"
    text = configuration.read_text()
    changed = re.sub(
        r"^allow_networks = .*$",
        'allow_networks = ["127.0.0.0/8"]\nmin_delay = 0.02\n[filters]\npreset = "none"',
        text,
        flags=re.MULTILINE,
    )
    assert changed != text
    configuration.write_text(changed)
    if not HAS_FLEET:
        compose = topology.compose / "compose.yaml"
        compose.write_text(
            re.sub(r"\[fleet, start.*\]", '[crawl, main, --workers, "2"]', compose.read_text())
        )


def shell(topology, lines, **inputs):
    """Type the lines of a guide, with a `docker` that means the topology."""
    programs = topology.home / "bin"
    programs.mkdir(exist_ok=True)
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.deploy.topology {topology.home} "$@"\n')
    docker.chmod(0o755)
    for name, text in inputs.items():
        (topology.compose / name.replace("_", ".")).write_text(text)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines],
        cwd=topology.compose,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


def thresher(topology, *words, text=None):
    """Run a command in a container of the console, which reaches every server."""
    done = topology.run("console", words, capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def source(topology):
    return json.loads(thresher(topology, "status", "--json"))["sources"][0]


def requested(site):
    return Counter(line for line in site.read_text().split() if line.startswith("/page/"))


def wait_for(condition, timeout=120):
    until = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.2)


def fetched(topology):
    return source(topology)["frontier"]["outcomes"].get("fetched", 0)


def finish(topology):
    """Run the fleet until everything is crawled and processed, and drain it."""
    topology.up("fleet")
    try:
        wait_for(lambda: fetched(topology) == PAGES)
    except AssertionError:
        raise AssertionError(f"{source(topology)}\n{topology.log('fleet')}") from None
    if not HAS_FLEET:
        thresher(topology, "process", "main")
    wait_for(lambda: (now := source(topology))["processed"] == now["archived"])
    topology.stop("fleet")


def assert_complete(topology, site):
    """Every page was asked for once, is archived and processed once, and everything stored is intact."""
    assert requested(site) == Counter({f"/page/{number}": 1 for number in range(PAGES)})
    now = source(topology)
    assert (now["frontier"]["outcomes"]["fetched"], now["frontier"]["waiting"]) == (PAGES, 0)
    assert now["kept"] == PAGES
    thresher(topology, "verify")


def test_a_drained_fleet_is_continued_by_a_unit_and_restarted_and_every_page_arrives_once(topology, site):
    host, port = SITE
    thresher(topology, "seed", "-", "--crawl", "main", text=f"http://{host}:{port}/page/0\n")
    topology.up("fleet")
    wait_for(lambda: len(requested(site)) > PAGES // 10)
    assert topology.stop("fleet") == (0 if HAS_FLEET else 130)
    before = source(topology)
    assert before["frontier"]["leased"] == 0
    assert PAGES // 10 < before["frontier"]["outcomes"]["fetched"] < PAGES
    unit = topology.run_unit("thresher-crawler@.service", "main", capture_output=True, text=True)
    assert unit.returncode == 0, unit.stdout + unit.stderr
    assert fetched(topology) == PAGES
    finish(topology)
    assert_complete(topology, site)


def test_the_catalog_lies_in_postgresql(topology):
    files = "select name, files from thresher.source"
    assert topology.execute("postgres", ["psql", "-h", "/tmp", "-U", "thresher", "-c", files]) == 0


def test_prometheus_has_our_rules_and_gets_the_metrics_of_the_console_with_its_token(topology):
    needed_program("prometheus")
    if not HAS_CONSOLE or not (DEPLOY / "prometheus/thresher_alerts.yml").exists():
        pytest.skip("`thresher serve` or deploy/prometheus is not there yet")
    topology.up("console")
    topology.up("prometheus")
    wait_for(lambda: {"console:8450", "store:8404"} <= healthy_targets(topology))
    rules = asked(topology, "rules")["groups"]
    assert "ThresherFrontierDown" in {rule["name"] for group in rules for rule in group["rules"]}
    refused = topology.inside(
        "import urllib.request as u; u.urlopen('http://127.0.0.1:8450/metrics', timeout=5)"
    )
    assert "401" in refused.stderr
    assert topology.stop("prometheus") == 0
    topology.stop("console")


def asked(topology, what):
    """What Prometheus answers."""
    code = (
        f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:9090/api/v1/{what}').read().decode())"
    )
    return json.loads(topology.inside(code).stdout)["data"]


def healthy_targets(topology):
    targets = asked(topology, "targets")["activeTargets"]
    return {target["labels"]["instance"] for target in targets if target["health"] == "up"}


def test_the_backup_of_the_guide_is_restored_on_a_machine_without_data(topology, site, holder, home):
    (backup,) = guide_blocks("Back up")
    restore, _ = guide_blocks("Restore")
    shell(topology, backup)
    assert topology.compose.joinpath("backup/catalog.sql").read_text().count("CREATE TABLE")
    for service in reversed(SERVERS):
        topology.stop(service)
    other = Topology(home / "second")
    other.home.mkdir()
    other.make(holder.pid)
    try:
        subprocess.run(["rm", "-r", other.compose / "secrets"], check=True)
        subprocess.run(
            ["cp", "-a", topology.compose / "backup", topology.compose / "compose.yaml", other.compose],
            check=True,
        )
        assert "intact" in shell(other, restore) or True
        assert_complete(other, site)
        (_, anew) = guide_blocks("Restore")
        host, port = SITE
        shell(other, anew, seeds_txt=f"http://{host}:{port}/page/0\n")
        finish(other)
        assert_complete(other, site)
    finally:
        other.down()
