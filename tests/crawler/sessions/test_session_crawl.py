"""A worker over a real frontier, a real archive and a real site that only members may read."""

import gzip
import logging

import pytest
import zstandard

from tests.crawler.sessions.login_site import SECRET
from tests.storage.reading import read
from thresher.crawler.sessions.session_pool import HOLD_MS
from thresher.crawler.worker import run_worker

STALE = "s3cr3t-of-last-year"
OPENED = {
    ".gz": gzip.decompress,
    ".zst": lambda text: zstandard.ZstdDecompressor().decompressobj().decompress(text),
}
"""What decompresses the files of a name."""


def linked(*targets):
    return "<title>Members</title><p>What only members read.</p>" + "".join(
        f'<a href="{target}">x</a>' for target in targets
    )


def stored(crawl):
    """Every byte in the storage of a crawl, decompressed."""
    files = [path for path in crawl.root.rglob("*") if path.is_file()]
    assert any(path.suffix == ".zst" for path in files)
    return b"".join(OPENED.get(path.suffix, bytes)(path.read_bytes()) for path in files)


def archived(crawl):
    """The paths of the responses in the archive, robots.txt left out."""
    files = sorted((crawl.root / "warc" / crawl.name).glob("*.warc.gz"))
    urls = [record.url for path in files for record in read(path) if record.type == "response"]
    return ["/" + url.split("/", 3)[3] for url in urls if not url.endswith("/robots.txt")]


def held(crawl):
    async def hosts(frontier):
        return {host.host: host.rest async for host in frontier.inspection.hosts(is_held=True) if host.rest}

    return crawl.ask(hosts)


def test_only_requests_for_pages_of_the_host_carry_the_cookie_and_nothing_stored_has_it(
    crawl, members, elsewhere, login
):
    members.pages["/a"] = linked("/b", "/logout", "/login", f"{elsewhere.url}/c", "/go")
    members.pages["public"] = {}
    members.headers["/b"] = {"Set-Cookie": "sid2=an0ther-s3cr3t; Path=/", "X-Kept": "yes"}
    elsewhere.pages["public"] = {"/c": linked(f"{members.url}/d")}
    crawl.seed(f"{members.url}/a", scope="any")
    run_worker(crawl.config("w", logins=login()))
    assert sorted(archived(crawl)) == ["/a", "/b", "/c", "/d", "/go"]
    assert set(members.cookies("/a")) == {f"sid={SECRET}"}
    assert set(members.cookies("/robots.txt")) == {""}
    assert not {"/logout", "/login"} & set(members.paths)
    assert crawl.stats.reasons["refused:login_address"] == 2
    assert not any(elsewhere.cookies(path) != [""] for path in elsewhere.paths)
    everything = stored(crawl)
    assert b"X-Kept: yes" in everything
    assert not [each for each in (SECRET.encode(), b"an0ther-s3cr3t", b"ookie:") if each in everything]


def test_a_crawl_that_names_no_profile_is_not_logged_in(crawl, members, login):
    login()
    crawl.seed(f"{members.url}/a")
    run_worker(crawl.config("w"))
    assert set(members.cookies("/a")) == {""}


def test_a_redirect_to_another_host_does_not_take_the_cookie_with_it(crawl, members, elsewhere, login):
    members.pages["public"] = {}
    real = members.answer
    members.answer = lambda path, cookie: (
        (302, {"Location": f"{elsewhere.url}/stolen"}, "") if path == "/a" else real(path, cookie)
    )
    elsewhere.pages["public"] = {"/stolen": "<p>Give it to me.</p>"}
    crawl.seed(f"{members.url}/a", scope="any")
    run_worker(crawl.config("w", logins=login()))
    assert elsewhere.paths == ["/robots.txt", "/stolen"]
    assert elsewhere.cookies("/stolen") == [""]


def test_requisites_of_a_page_carry_its_login_to_its_own_host_alone(crawl, members, elsewhere, login):
    members.pages["/a"] = (
        f'<p>What only members read.</p><img src="/own.png"><img src="{elsewhere.url}/pixel.png">'
        f'<iframe src="{elsewhere.url}/frame"></iframe><img src="/logout"><img src="/away.png">'
    )
    real = members.answer
    members.answer = lambda path, cookie: (
        (302, {"Location": f"{elsewhere.url}/stolen.png"}, "") if path == "/away.png" else real(path, cookie)
    )
    elsewhere.answer = lambda path, _: (404 if path == "/robots.txt" else 200, {}, "")
    crawl.seed(f"{members.url}/a", max_depth=0)
    run_worker(crawl.config("w", logins=login(), requisites=True))
    assert set(members.cookies("/own.png")) == {f"sid={SECRET}"}
    assert "/logout" not in members.paths
    assert {"/pixel.png", "/stolen.png"} <= set(elsewhere.paths)
    assert not any(elsewhere.cookies(path) != [""] for path in elsewhere.paths)
    assert SECRET.encode() not in stored(crawl)


@pytest.mark.parametrize(
    ("end", "signs", "said"),
    [
        ("redirect", {}, "a redirect to the login page"),
        ("status", {}, "status 401"),
        ("form", {}, "a login page in place of the page"),
        (
            "<p>Please become a <b>member</b> &amp; read on.",
            {"ended_text": "</b> & read on"},
            "the text of ended_text",
        ),
        ("<p class=wall>Members only.", {"ended_selector": "p.wall"}, "the element of ended_selector"),
    ],
)
def test_a_login_that_ended_pauses_the_host_says_so_and_archives_no_login_page(
    crawl, members, login, caplog, end, signs, said
):
    members.end = end
    crawl.seed(f"{members.url}/a")
    with caplog.at_level(logging.WARNING):
        run_worker(crawl.config("w", logins=login({"ada": STALE}, **signs), max_requests=2))
    assert members.paths == ["/robots.txt", "/a"]
    assert archived(crawl) == []
    rest = held(crawl)[members.address]
    assert rest.reason == "login_ended"
    assert HOLD_MS - 60_000 < rest.ms <= HOLD_MS
    assert crawl.stats.waiting + crawl.stats.later == 1
    (line,) = caplog.messages
    assert line.startswith(f"127.0.0.1: the login of the profile ada has ended ({said})")
    assert "thresher login" in line
    assert STALE.encode() not in stored(crawl)
    assert STALE not in caplog.text


def test_after_a_new_login_the_paused_host_goes_on(crawl, members, login, save):
    logins = login({"ada": STALE})
    crawl.seed(f"{members.url}/a")
    run_worker(crawl.config("w1", logins=logins, max_requests=2))
    save("ada")
    crawl.ask(lambda frontier: frontier.operator.resume(members.address))
    run_worker(crawl.config("w2", logins=logins))
    assert archived(crawl) == ["/a"]


def test_the_next_profile_takes_over_with_its_own_cookie_and_user_agent(crawl, members, save, login, caplog):
    logins = login({"ada": STALE, "bob": SECRET})
    save("bob", user_agent="agent-of-bob")
    crawl.seed(f"{members.url}/a", f"{members.url}/b")
    run_worker(crawl.config("w", logins=logins))
    assert sorted(archived(crawl)) == ["/a", "/b"]
    carried = [
        (headers.get("Cookie"), headers["User-Agent"])
        for _, path, headers in members.requests
        if path != "/robots.txt"
    ]
    assert [cookie for cookie, _ in carried] == [f"sid={STALE}", f"sid={SECRET}", f"sid={SECRET}"]
    assert [agent == "agent-of-bob" for _, agent in carried] == [False, True, True]
    assert "bob takes over" in caplog.text


def test_the_traceback_of_a_page_that_cannot_be_read_has_nothing_of_the_login(
    crawl, members, login, monkeypatch, caplog
):
    def fail(*_, **__):
        raise ValueError("a fault of ours")

    monkeypatch.setattr("thresher.crawler.lease_handler.read_page", fail)
    crawl.seed(f"{members.url}/a")
    run_worker(crawl.config("w", logins=login()))
    everything = stored(crawl)
    assert crawl.stats.reasons["failed:reading"] == 1
    assert b"a fault of ours" in everything
    assert SECRET.encode() not in everything
    assert SECRET not in caplog.text
