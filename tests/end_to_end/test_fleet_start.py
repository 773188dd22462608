"""`thresher fleet` on one machine: supervised processes that are replaced, scaled, paused and drained."""

import signal
import time

import pytest

from demo.web import Web
from tests.end_to_end.conftest import TOML, CallingUser
from tests.end_to_end.fleet_user import (
    archived,
    fleet_status,
    least_gap_s,
    log,
    running,
    start_fleet,
    stop,
    wait_for,
    workers,
)
from thresher.core import InputError
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.recipe import export_crawl
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards.tokenizer import load_tokenizer_file

DELAY_S = 0.1


@pytest.fixture
def web():
    with Web().serve() as serving:
        yield serving


@pytest.fixture
def seeded(user, web):
    slow = TOML.replace("min_delay = 0.0", f"min_delay = {DELAY_S}\nmin_ip_delay = 0.0")
    (user.directory / "thresher.toml").write_text(slow)
    (user.directory / "seeds.txt").write_text("\n".join(web.seeds))
    CallingUser(user.directory).run("seed", "seeds.txt", "--scope", "host")
    return user


@pytest.fixture
def started(seeded):
    """A fleet of one crawler and one processor, which is ended with the test."""
    process = start_fleet(seeded)
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()


def complete(user, web):
    """The crawl's only source is drained, processed and intact, and has every page once."""
    (source,) = CallingUser(user.directory).run("status", "--json").json["sources"]
    assert source["frontier"]["drained"]
    assert source["archived"] == source["processed"]
    assert source["frontier"]["leased"] == 0
    found = archived(user)
    assert web.expected.pages <= found.keys()
    assert {url: number for url, number in found.items() if number > 1} == {}
    CallingUser(user.directory).run("verify")
    assert least_gap_s(web.log) >= DELAY_S


def test_a_fleet_that_was_never_started_says_so_and_takes_no_orders(seeded):
    user = CallingUser(seeded.directory)
    for words in (("status",), ("pause",), ("resume",), ("stop",), ("scale", "--crawlers", "2")):
        line = user.run("fleet", words[0], "main", *words[1:], code=2).line
        assert "no fleet was ever started for it; run `thresher fleet start main`" in line
    assert "nothing is seeded" in user.run("fleet", "status", "other", code=2).line


def test_an_export_of_a_crawl_that_has_sealed_nothing_is_refused(seeded):
    """It recorded an empty dataset."""
    user = CallingUser(seeded.directory)
    toml = user.directory / "thresher.toml"
    toml.write_text(f'{toml.read_text()}\n[fleet]\nexport_out = "exports"\n')
    line = user.run("fleet", "scale", "main", "--exporters", "1", code=2).line
    assert "crawl 'main': no archive file is sealed yet, so there is nothing to export" in line
    opened = OpenProject.at(user.directory)
    with pytest.raises(InputError, match="no archive file is sealed yet"), opened.worker_pool(1) as pool:
        export_crawl(
            opened, "main", str(user.directory / "out"), load_tokenizer_file(None), pool, LineProgress()
        )
    assert not (user.directory / "out").exists()


@pytest.mark.parametrize(
    ("words", "toml", "said"),
    [
        (["start", "main", "--ray", "nowhere"], "", "--ray nowhere: give HOST:PORT of the cluster's head"),
        (
            ["start", "main", "--keep-workers"],
            "",
            "--keep-workers: the workers of one machine end with their",
        ),
        (
            ["start", "main", "--ray", "h:1", "--keep-workers"],
            "",
            "the embedded Redis ends with the controller",
        ),
        (["scale", "main"], "", "give --crawlers N, --processors N or --exporters N"),
        (["scale", "main", "--exporters", "1"], "", "fleet.export_out in thresher.toml does not say where"),
        (
            ["start", "main", "--crawlers", "9"],
            "max_crawlers = 4",
            "fleet.max_crawlers in thresher.toml allow 0 to 4",
        ),
        (["start", "main"], "min_crawlers = 4", "fleet.min_crawlers needs fleet.max_crawlers"),
        (["start", "main"], "min_crawlers = 4\nmax_crawlers = 2", "fleet.min_crawlers = 4 is larger than"),
        (
            ["start", "main"],
            'export_when = "soon"',
            "fleet.export_when must be 'drained' or a time such as '24h'",
        ),
        (["start", "main"], "crawlers = -1", "fleet.crawlers must be a number from 0 to 100000, not -1"),
    ],
)
def test_wrong_input_is_one_line_before_anything_starts(user, words, toml, said):
    with (user.directory / "thresher.toml").open("a") as file:
        file.write(f"[fleet]\n{toml}\n")
    assert said in CallingUser(user.directory).run("fleet", *words, code=2).line


def test_a_fleet_crawls_scales_pauses_and_drains_and_nothing_is_left_behind(seeded, web, started):
    user = CallingUser(seeded.directory)
    wait_for(lambda: running(seeded, "crawler") and running(seeded, "processor") and len(web.log) > 20)
    state = fleet_status(seeded)
    assert state["wanted"]["crawlers"] == state["running"]["crawler"] == 1
    assert all(each["rss_bytes"] > 1 << 20 and each["node"] for each in state["members"])
    user.run("fleet", "scale", "main", "--crawlers", "2", "--processors", "0")
    wait_for(lambda: len(running(seeded, "crawler")) == 2 and not running(seeded, "processor"))

    user.run("fleet", "pause", "main")
    wait_for(lambda: {each["state"] for each in fleet_status(seeded)["members"]} == {"paused"})
    user.run("fleet", "pause", "main")
    wait_for(lambda: user.run("status", "--json").json["sources"][0]["frontier"]["leased"] == 0)
    (source,) = user.run("status", "--json").json["sources"]
    assert source["waits"] == "crawl for its operator (paused)"
    asked = len(web.log)
    time.sleep(2)
    assert len(web.log) == asked
    user.run("fleet", "resume", "main")
    wait_for(lambda: len(web.log) > asked)

    assert stop(started) == 0
    assert started.returncode == 0
    state = fleet_status(seeded)
    assert (state["controller"], state["members"], state["ended"]) == (None, [], [])
    assert state["wanted"]["crawlers"] == 2
    assert "no controller runs" in user.run("fleet", "status", code=1).out
    assert user.run("status", "--json").json["sources"][0]["frontier"]["leased"] == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fleet_until_the_crawl_is_drained_exports_what_it_made(seeded, web):
    with (seeded.directory / "thresher.toml").open("a") as file:
        file.write('[fleet]\ncrawlers = 2\nexport_out = "exports"\n')
    process = start_fleet(seeded, until_drained=True)
    assert process.wait(300) == 0, log(seeded)
    complete(seeded, web)
    (export,) = (seeded.directory / "exports").iterdir()
    assert (export / "manifest.json").exists()
    state = fleet_status(seeded)
    assert state["exported_pages"] > 300
    assert (state["wanted"]["exporters"], state["members"]) == (0, [])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_workers_and_controllers_are_replaced_and_every_page_arrives_once(seeded, web, started):
    wait_for(lambda: running(seeded, "crawler") and len(web.log) > 20)
    CallingUser(seeded.directory).run("fleet", "scale", "main", "--crawlers", "2")
    for _ in range(2):
        for victim in workers(started, "spawn_main")[:2]:
            victim.kill()
        asked = len(web.log)
        wait_for(lambda asked=asked: len(web.log) > asked + 20)
        wait_for(lambda: any(each["restarts"] for each in fleet_status(seeded)["members"]))
    started.kill()
    started.wait()
    assert start_fleet(seeded, until_drained=True).wait(600) == 0
    complete(seeded, web)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_controller_that_stands_by_takes_over_when_the_other_dies(seeded, web, started):
    wait_for(lambda: fleet_status(seeded).get("controller"))
    first = fleet_status(seeded)["controller"]
    standby = start_fleet(seeded)
    wait_for(lambda: f"the controller {first} holds the fleet" in log(seeded))
    started.kill()
    wait_for(lambda: fleet_status(seeded).get("controller") not in {None, first})
    wait_for(lambda: running(seeded, "crawler") and running(seeded, "processor"))
    standby.send_signal(signal.SIGTERM)
    assert standby.wait(120) == 0
