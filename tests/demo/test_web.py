"""The demo's web: the same for a seed, and everything that is said of it is true over real HTTP."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from demo.web import RunningWeb, Web
from tests.demo.client import Client
from tests.served_webs import demo_web  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]
DIGEST = """
import hashlib
from demo.web import Web
digest = hashlib.sha256()
for name, site in Web(7).sites(8000).items():
    for target, answer in site.answers.items():
        digest.update(repr((name, target, answer)).encode())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def web(demo_web: RunningWeb):
    return demo_web


@pytest.fixture(scope="module")
def client():
    client = Client()
    yield client
    client.close()


@pytest.fixture(scope="module")
def walked(web, client: Client):
    """URL to reply of everything that a naive, obedient crawler asks for, by links of the pages alone."""
    forbidden = tuple(sorted(web.expected.forbidden))
    seen, waiting, replies = set(web.seeds), deque(web.seeds), {}
    while waiting:
        url = waiting.popleft()
        reply = replies[url] = client.get(url)
        found = [urljoin(url, reply.headers["location"])] if "location" in reply.headers else []
        if reply.html and reply.status == 200:
            tree = LexborHTMLParser(reply.text or " ")
            robots = tree.css_first("meta[name=robots]")
            base = tree.css_first("base[href]")
            root = urljoin(url, base.attributes["href"]) if base else url
            if not (robots and "nofollow" in (robots.attributes["content"] or "")):
                found = [urljoin(root, node.attributes["href"] or "") for node in tree.css("a[href]")]
        for link in (urldefrag(link).url.replace("%c3", "%C3") for link in found):
            inside = any(link.startswith(f"{host}/") for host in web.hosts.values())
            if inside and link not in seen and link not in forbidden:
                seen.add(link)
                waiting.append(link)
    return replies


def digest():
    whole = hashlib.sha256()
    for name, site in Web(7).sites(8000).items():
        for target, answer in site.answers.items():
            whole.update(repr((name, target, answer)).encode())
    return whole.hexdigest()


def test_the_same_seed_writes_the_same_bytes():
    assert digest() == digest()


def test_it_does_so_in_another_process_with_another_hash_seed():
    env = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT)}
    other = subprocess.run(
        [sys.executable, "-c", DIGEST], env=env, cwd="/", capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == digest()


def test_another_seed_writes_other_articles():
    one, two = Web(1).sites(8000)["lantern"], Web(2).sites(8000)["lantern"]
    assert one.pages != two.pages


def test_no_page_leads_out_of_the_web_or_tells_of_the_machine(web, walked):
    inside = tuple(web.hosts.values())
    for url, reply in walked.items():
        if reply.html:
            for node in LexborHTMLParser(reply.text or " ").css("[href], [src], form[action]"):
                for name in ("href", "src", "action"):
                    value = node.attributes.get(name) or ""
                    assert not value.startswith(("http:", "https:", "//", "file:")) or value.startswith(
                        inside
                    ), url
            assert not any(path in reply.text for path in (str(ROOT), sys.base_prefix + "/lib")), url


def test_the_pages_are_what_can_be_reached(web, walked):
    assert {url for url, reply in walked.items() if reply.status == 200 and reply.html} == web.expected.pages
    assert 300 <= len(web.expected.pages) <= 420


def test_the_seeds_reach_the_pages_of_their_own_hosts(web, walked):
    """Links between hosts are not needed: a crawl that may not leave the host finds the same."""
    for name, base in web.hosts.items():
        seen, waiting = {f"{base}/"}, deque([f"{base}/"])
        while waiting:
            url = waiting.popleft()
            reply = walked[url]
            text = reply.text if reply.html else ""
            tree = LexborHTMLParser(text or " ")
            root = tree.css_first("base[href]")
            here = urljoin(url, root.attributes["href"]) if root else url
            links = [urljoin(here, node.attributes["href"] or "") for node in tree.css("a[href]")]
            links += [urljoin(url, reply.headers["location"])] if "location" in reply.headers else []
            for link in (urldefrag(link).url for link in links):
                if link.startswith(f"{base}/") and link in walked and link not in seen:
                    seen.add(link)
                    waiting.append(link)
        assert {url for url in web.expected.pages if url.startswith(f"{base}/")} <= seen, name


def test_forbidden_pages_are_there_and_linked(web, walked, client: Client):
    archive = walked[f"{web.hosts['lantern']}/archive.html"].text
    assert len(web.expected.forbidden) == 3
    for url in web.expected.forbidden:
        assert client.get(url).status == 200
        assert urlsplit(url).path in archive
        assert "Disallow: /private/" in client.get(urljoin(url, "/robots.txt")).text


def test_unlinked_pages_are_there_and_no_link_leads_to_them(web, walked, client: Client):
    assert web.expected.unlinked
    for url in web.expected.unlinked:
        assert client.get(url).status == 200
        assert url not in walked


def test_missing_pages_are_linked_and_missing(web, walked):
    missing = {url for url, reply in walked.items() if reply.status in {404, 410}}
    assert missing == web.expected.missing
    assert {walked[url].status for url in missing} == {404, 410}


def test_files_are_linked_and_no_pages(web, walked):
    assert {
        url for url, reply in walked.items() if reply.status == 200 and not reply.html
    } == web.expected.files
    assert walked[f"{web.hosts['lantern']}/images/lamp.png"].body.startswith(b"\x89PNG")


def test_every_redirect_points_where_it_is_said_to(web, walked):
    hops = {u: urljoin(u, r.headers["location"]) for u, r in walked.items() if "location" in r.headers}
    assert hops == web.expected.redirects


def test_loops_never_end_and_all_other_redirects_do(web, client: Client):
    ends = {url: client.follow(url) for url in web.expected.redirects}
    assert {url for url, end in ends.items() if end is None} == web.expected.loops
    assert all(end[0] in web.expected.pages for end in ends.values() if end)
    assert any(web.expected.redirects.get(to) for to in web.expected.redirects.values()), "a chain"
    assert any(urlsplit(u).netloc != urlsplit(to).netloc for u, to in web.expected.redirects.items()), (
        "across hosts"
    )


def test_robots_txt_of_every_kind(web, client: Client):
    said = {name: client.get(f"{base}/robots.txt") for name, base in web.hosts.items()}
    assert said["stille"].status == 404
    assert {reply.status for name, reply in said.items() if name != "stille"} == {200}
    assert "Crawl-delay: 0.2" in said["revue"].text
    assert web.expected.delays == {"revue": 0.2}


def test_a_session_changes_the_address_and_not_the_page(web, client: Client):
    assert len(web.expected.aliases) == 3
    for alias, plain in web.expected.aliases.items():
        assert {alias, plain} <= web.expected.pages
        assert client.get(alias).body == client.get(plain).body


def test_charsets_are_said_in_the_header_only(web, client: Client):
    assert set(web.expected.charsets.values()) == {"iso-8859-1", "windows-1252"}
    for url, charset in web.expected.charsets.items():
        reply = client.get(url)
        assert reply.headers["content-type"] == f"text/html; charset={charset}"
        assert "charset=" not in reply.text
        with pytest.raises(UnicodeDecodeError):
            reply.body.decode("utf-8")


def test_gzip_for_those_who_accept_it(web, client: Client):
    url = f"{web.hosts['cuaderno']}/"
    plain, coded = client.get(url), client.get(url, Accept_Encoding="gzip")
    assert "content-encoding" not in plain.headers
    assert coded.headers["content-encoding"] == "gzip"
    assert coded.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert coded.text == plain.text


def test_some_answers_are_chunked(web, walked):
    chunked = [url for url, reply in walked.items() if reply.headers.get("transfer-encoding") == "chunked"]
    assert len(chunked) == 3
    assert all(b"</html>" in walked[url].body for url in chunked)


def test_exact_copies_on_one_host_have_the_same_bytes_and_links_lead_to_them(web, walked):
    same_host = [pair for pair in web.expected.exact if urlsplit(pair[0]).netloc == urlsplit(pair[1]).netloc]
    identical = [(a, b) for a, b in same_host if walked[a].body == walked[b].body]
    assert len(same_host) == 7
    assert len(identical) >= 5, "all but those whose links depend on where they stand"


def test_one_page_is_the_same_in_two_spellings(web, walked):
    spelled = [u for u, r in walked.items() if r.html and "%c3" in r.text]
    assert spelled
    assert any("%C3" in url for url in web.expected.pages)


def test_the_log_tells_who_asked_for_what_and_when(web, client: Client):
    before, begun = len(web.log), time.monotonic()
    client.get(f"{web.hosts['junk']}/s/1?x=%20", User_Agent="somebody/1")
    hits = [hit for hit in web.log[before:] if hit.agent == "somebody/1"]
    (hit,) = hits
    assert (hit.host, hit.path, hit.status) == ("junk", "/s/1?x=%20", 404)
    assert begun <= hit.at <= time.monotonic()


def test_it_stops_and_gives_the_port_back():
    with Web().serve() as serving:
        address = urlsplit(serving.seeds[0])
        assert Client().get(serving.seeds[0]).status == 200
    with pytest.raises(OSError):
        socket.create_connection((address.hostname, address.port), timeout=2)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((address.hostname, address.port))


def test_two_webs_stand_side_by_side():
    with Web(1).serve() as one, Web(2).serve() as two:
        assert one.hosts["lantern"] != two.hosts["lantern"]
        assert Client().get(one.seeds[0]).body != Client().get(two.seeds[0]).body


def test_the_command_prints_the_seeds_and_ends_with_ctrl_c():
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "demo.web"], env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        seeds = [process.stdout.readline().strip() for _ in range(6)]
        assert [Client().get(seed).status for seed in seeds] == [200] * 6, json.dumps(seeds)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
