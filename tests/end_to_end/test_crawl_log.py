"""What a crawl says of itself: while it runs, at its end, and afterwards when it is asked."""

import asyncio
import json
import re
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime

import pytest

from tests.crawler.server import Server, links, page
from tests.end_to_end.conftest import TOML, CallingUser, User, wait_until

NOBODY = "http://127.0.0.2:9/"
"""Port 9, discard: nobody listens."""
PAGES = 5


def web():
    """A front page with links to pages, to one that is not there and to one that robots.txt forbids."""
    return {
        "/robots.txt": page("User-agent: *\nDisallow: /private\n", kind="text/plain"),
        "/": links(*(f"/{n}" for n in range(1, PAGES)), "/gone", "/private"),
        **{f"/{n}": page(f"<p>Page {n}, and something to say.") for n in range(1, PAGES)},
    }


@pytest.fixture
def user(calling_user):
    return calling_user


@pytest.fixture
def site():
    with Server(web()).in_thread() as server:
        yield server


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A crawl that has drained, with one page that failed; the tests ask for it in any order, and start no command."""
    directory = tmp_path_factory.mktemp("project")
    (directory / "thresher.toml").write_text(TOML)
    user = User(directory)
    with Server(web()).in_thread() as site:
        (directory / "seeds.txt").write_text(f"{site.url}/\n{NOBODY}\n")
        CallingUser(directory).run("seed", "seeds.txt", "--scope", "prefix")
        said = user.run("crawl", "--verbose", code=3)
        yield CallingUser(directory), site, said


def logged(user, *words):
    return [json.loads(line) for line in user.run("log", *words, "--json").out.splitlines()]


def test_a_crawl_names_its_reasons_and_its_log_says_the_same(crawled):
    user, site, said = crawled
    first, *reasons = said.out.splitlines()
    outcomes = f"main: {PAGES} fetched, 1 gone, 1 refused, 1 failed"
    counted = re.fullmatch(rf"{outcomes} \((\d+) requests\); the frontier is drained", first)
    # Nobody counts the attempts to reach the host that does not answer.
    assert counted
    assert int(counted[1]) > site.paths.total()
    assert reasons == [
        "  1 failed: host given up: connection refused (dead_refused)",
        "  1 refused: forbidden by robots.txt (robots)",
        "  1 gone: HTTP 404 Not Found (status_404)",
    ]
    # --verbose shows each line as the log has it.
    shown = [line for line in said.err.splitlines() if not line.startswith("crawl: ")]
    assert sorted(shown) == sorted(user.run("log").out.splitlines())

    assert logged(user) == sorted(logged(user), key=lambda line: line["time"])
    (failed,) = logged(user, "--outcome", "failed")
    assert (failed["url"], failed["reason"], failed["referrer"]) == (NOBODY, "dead_refused", "")
    (gone,) = logged(user, "--reason", "status_404", "--host", "127.0.0.1")
    assert (gone["url"], gone["status"], gone["referrer"]) == (f"{site.url}/gone", 404, f"{site.url}/")
    assert gone["bytes"] > 0
    assert gone["ms"] >= 0
    assert logged(user, "--reason", "refused:robots") == logged(user, "--outcome", "refused")
    assert logged(user, "--host", "elsewhere.example") == []
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d gone +404 +\d+ B +\d+ ms  {site.url}/gone  from {site.url}/",
        next(line for line in user.run("log").out.splitlines() if "/gone" in line),
    )
    # Nothing is left to do, and nothing failed this time.
    again = user.run("crawl")
    assert again.out == "main: nothing fetched, because nothing waited; the frontier is drained\n"
    assert user.run("crawl", "--json").json["run"] == {"requests": 0, "outcomes": {}, "reasons": {}}


def test_show_says_what_is_known_of_a_url(crawled):
    user, site, _ = crawled
    url = f"{site.url}/1"
    user.run("process")
    said = user.run("show", url).out
    assert said.startswith("main: settled\n")
    assert re.search(rf"fetched +200 .*{url}  from {site.url}/\n", said)
    assert re.search(r"captured 200 text/html in warc/main/\S+\.warc\.gz at \d+\n", said)
    assert "dropped by" in said
    found = user.run("show", f"{site.url}/%31", "main", "--json").json
    assert found["url"] == url
    ((source,)) = found["sources"]
    assert source["frontier"]["state"] == "settled"
    assert [line["outcome"] for line in source["log"]] == ["fetched"]
    ((capture,)) = source["captures"]
    assert (capture["url"], capture["status"], capture["verdict"]["keep"]) == (url, 200, False)
    assert "dead_refused" in user.run("show", NOBODY).out
    assert user.run("show", f"{site.url}/never").out.startswith(f"{site.url}/never: unknown; ")
    assert "is no URL" in user.run("show", "never", code=2).line


def test_hosts_that_rest_are_listed_with_reason_and_end(crawled):
    user, _, _ = crawled
    given_up = "127.0.0.2: host given up: connection refused (dead_refused); 0 pages wait\n"
    assert user.run("frontier", "hosts", "main").out == given_up
    user.run("frontier", "resume", "main", "127.0.0.2")
    assert (
        user.run("frontier", "hosts", "main").out
        == "main: 2 hosts, and none is held, was given up, or repeats itself\n"
    )
    user.run("frontier", "hold", "main", "127.0.0.1", "--for", "2h")
    said = user.run("frontier", "hosts", "main").out
    assert re.fullmatch(
        r"127\.0\.0\.1: held for (2 h|1 h 59 min), until .* UTC: held with `thresher frontier hold` \(operator\); "
        r"0 pages wait\n",
        said,
    )
    hosts = user.run("frontier", "hosts", "main", "--all", "--json").json["hosts"]
    host = next(host for host in hosts if host["host"] == "127.0.0.1")
    assert len(hosts) == 2
    assert (host["host"], host["state"], host["reason"]) == ("127.0.0.1", "held", "operator")
    left = datetime.fromisoformat(host["until"]) - datetime.now(UTC)
    assert 0 < left.total_seconds() <= 7_200


@pytest.mark.slow
def test_a_crawl_that_is_interrupted_says_so_and_ends_with_130(user, site):
    front, let_go = site.answers["/"], threading.Event()

    async def slow(_, writer):
        await asyncio.to_thread(let_go.wait)
        writer.write(front)

    site.answers["/"] = slow
    user.run("seed", f"{site.url}/", "--scope", "prefix")
    crawl = subprocess.Popen(
        user.command("crawl", "--json"),
        env=user.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert wait_until(lambda: site.paths["/"], crawl)
        crawl.send_signal(signal.SIGINT)
        time.sleep(1)  # the workers are told twice a second
    finally:
        let_go.set()
    out, err = crawl.communicate(timeout=60)
    assert crawl.returncode == 130, out + err
    said = json.loads(out)
    assert (said["interrupted"], said["drained"]) == (True, False)
    assert said["run"]["outcomes"] == {"fetched": 1}


def test_a_crawl_that_can_fetch_nothing_says_why(user, site):
    user.run("seed", f"{site.url}/", "--scope", "prefix")
    user.run("frontier", "hold", "main", "127.0.0.1", "--for", "1h")
    assert user.run("crawl", "--max-time", "1").out.splitlines() == [
        "main: nothing fetched: 1 host held, held with `thresher frontier hold`; 1 URL waits, run again to continue",
        "  1 host held: held with `thresher frontier hold` (operator)",
        "  until when: thresher frontier hosts main",
    ]


def test_a_crawl_that_waited_for_the_web_says_what_kept_it(user):
    nobody = '[crawler]\nnameservers = ["127.0.0.2:9"]'
    (user.directory / "thresher.toml").write_text(TOML.replace("[crawler]", nobody))
    user.run("seed", "http://a.example/")
    first, then = user.run("crawl", "--max-time", "4").out.splitlines()
    cause = r"no name server answers \(127\.0\.0\.2:9\), for \d+ s"
    assert re.fullmatch(rf"main: nothing fetched: {cause}; 1 URL waits, run again to continue", first)
    assert re.fullmatch(rf"  waited for the web: {cause}", then)


@pytest.mark.slow
def test_a_log_is_followed_while_the_crawl_writes_it(user, site):
    assert "there is no log; run `thresher crawl main`" in user.run("log", code=2).line
    follow = subprocess.Popen(
        user.command("log", "--follow", "--json", "--outcome", "fetched"),
        env=user.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    last, let_go = site.answers["/4"], threading.Event()

    async def held(_, writer):
        """The crawl goes on as long as the follower, which skips sealed files, has not shown a line."""
        await asyncio.to_thread(let_go.wait)
        writer.write(last)

    site.answers["/4"] = held
    user.run("seed", f"{site.url}/", "--scope", "prefix")
    crawl = user.start("crawl")
    assert follow.stdout
    seen = [json.loads(follow.stdout.readline())["url"]]
    let_go.set()
    seen += [json.loads(follow.stdout.readline())["url"] for _ in range(PAGES - 1)]
    assert crawl.wait(60) == 0
    assert sorted(seen) == [f"{site.url}/", *(f"{site.url}/{n}" for n in range(1, PAGES))]
    follow.send_signal(signal.SIGINT)
    _, err = follow.communicate(timeout=30)
    assert follow.returncode == 130
    assert "Traceback" not in err
