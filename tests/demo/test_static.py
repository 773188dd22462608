"""Folders as sites: what a file server answers, and what the reference count makes of them."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from tests.demo.client import Client
from tests.served_webs import ROOT, tree_server

ONE, TWO = "127.18.8.1", "127.18.8.2"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("site")
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.html").write_text("secret")
    files = {
        "index.html": '<a href="guide">g</a> <a href="sub/a%20b.html">x</a> <a href="out.html">o</a><a href="gone">',
        "guide/index.html": '<base href="../sub/"><a href="c.html#top">c</a><a href="c.html?">c</a><a href="d.html">',
        "sub/a b.html": '<link rel="next" href="e.html"><iframe src=f.html><a href="data.csv">csv</a>',
        "sub/c.html": '<meta name="robots" content="noindex,NoFollow"><a href="hidden.html">h</a>',
        "sub/d.html": '<a href="http://127.18.8.2/">elsewhere</a><a href="/in.html">in</a><a href="mailto:x">m</a>',
        "sub/e.html": "<p>é",
        "sub/f.html": '<area href="../guide/">',
        "sub/hidden.html": "h",
        "sub/data.csv": "a,b\n",
        "sub/ä.html": "ä",
        "style.css": "p {}",
        "page.xhtml": "<html/>",
        "old.html.gz": "zip",
        "odd.unknown": "?",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    (root / "out.html").symlink_to(outside / "secret.html")
    (root / "outside").symlink_to(outside)
    (root / "dangling.html").symlink_to("nowhere.html")
    (root / "in.html").symlink_to("sub/e.html")
    return root


@pytest.fixture(scope="module")
def trees(site, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "access.log"
    with tree_server({ONE: site, TWO: site / "sub"}, log=log) as trees:
        yield trees


@pytest.fixture
def ask(trees):
    client = Client()
    yield lambda target, host=ONE, **more: client.get(trees.hosts[host] + target, **more)
    client.close()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/", 200),
        ("/index.html", 200),
        ("/index.html?any=query", 200),
        ("/index.html/", 404),
        ("/guide", 301),
        ("/guide/", 200),
        ("/sub/", 404),
        ("/sub/a%20b.html", 200),
        ("/sub/%C3%A4.html", 200),
        ("/in.html", 200),
        ("/out.html", 404),
        ("/outside/secret.html", 404),
        ("/outside/", 404),
        ("/dangling.html", 404),
        ("/../index.html", 404),
        ("/sub/%2e%2e/index.html", 404),
        ("/index.html%00", 404),
        ("/gone", 404),
    ],
)
def test_paths(ask, target, status):
    assert ask(target).status == status


def test_a_directory_is_asked_for_with_its_slash(ask):
    assert ask("/guide?x=1").headers["location"] == "/guide/?x=1"


def test_each_address_has_its_own_root(ask):
    assert ask("/c.html", host=TWO).status == 200
    assert ask("/c.html", host=ONE).status == 404


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/page.xhtml", "application/xhtml+xml"),
        ("/sub/data.csv", "text/csv"),
        ("/old.html.gz", "application/gzip"),
        ("/odd.unknown", "application/octet-stream"),
    ],
)
def test_types_come_from_names_and_no_charset_is_claimed(ask, target, kind):
    reply = ask(target, Accept_Encoding="gzip")
    assert reply.headers["content-type"] == kind
    assert "content-encoding" not in reply.headers


def test_who_has_it_already_is_told_so(ask):
    first = ask("/style.css")
    assert ask("/style.css", If_None_Match=first.headers["etag"]).status == 304
    assert ask("/style.css", If_Modified_Since=first.headers["last-modified"]).status == 304
    stale = ask("/style.css", If_None_Match='"other"', If_Modified_Since=first.headers["last-modified"])
    assert (stale.status, stale.body) == (200, b"p {}")


def test_the_log_has_every_request(trees, ask):
    begun = time.monotonic()
    ask("/style.css?log", User_Agent="one two/3")
    hit = next(hit for hit in trees.requests() if hit.path == "/style.css?log")
    assert (hit.host, hit.status, hit.agent) == (ONE, 200, "one two/3")
    assert begun <= hit.at <= time.monotonic()


def test_it_stops_with_the_context(site):
    with tree_server({ONE: site}) as trees:
        assert Client().get(f"{trees.hosts[ONE]}/").status == 200
    with pytest.raises(OSError):
        socket.create_connection((ONE, trees.port), timeout=2)


def test_it_stops_when_its_parent_is_killed(site):
    script = (
        "import time\nfrom pathlib import Path\nfrom tests.served_webs import tree_server\n"
        f"with tree_server({{'{ONE}': Path({str(site)!r})}}) as trees:\n"
        "    print(trees.port, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        port = int(parent.stdout.readline())
        assert Client().get(f"http://{ONE}:{port}/").status == 200
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection((ONE, port), timeout=1).close()
        except OSError:
            return
        time.sleep(0.02)
    pytest.fail("the server outlived its parent")


@pytest.fixture(scope="module")
def sites():
    spec = importlib.util.spec_from_file_location("sites", ROOT / "bench/crawler/sites.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_count_finds_what_links_lead_to(sites, site):
    found = sites.reachable(site, f"http://{ONE}:80/index.html")
    paths = {urlsplit(url).path for url in found}
    assert paths == {
        "/index.html",
        "/guide/",
        "/sub/a%20b.html",
        "/sub/c.html",
        "/sub/d.html",
        "/sub/e.html",
        "/sub/f.html",
        "/in.html",
    }


@pytest.mark.parametrize(
    ("reference", "absolute"),
    [
        ("c//d", "http://h/a//b/c//d"),
        ("../c", "http://h/a//c"),
        ("../../c", "http://h/a/c"),
        ("//g/x", "http://g/x"),
        ("?q=http://x//y", "http://h/a//b/?q=http://x//y"),
    ],
)
def test_empty_segments_count(sites, reference, absolute):
    assert sites.join_url("http://h/a//b/", reference) == absolute


@pytest.mark.parametrize(
    ("spelled", "form"),
    [
        ("http://a/%7Eb%2Dc%2f%41", "http://a/~b-c%2FA"),
        ("http://a/ü ö?#x", "http://a/%C3%BC%20%C3%B6"),
        ("http://a/?", "http://a/"),
    ],
)
def test_one_form_for_all_spellings(sites, spelled, form):
    assert sites.comparable(spelled) == form


def test_the_benchmark_serves_until_it_is_told_to_stop(sites, site, tmp_path):
    if not sites.LIST.exists():
        pytest.skip("real material is absent: shared/data/sites-debian.tsv")
    entry = tmp_path / "postgresql-doc-15" / sites.entry_pages(["postgresql-doc-15"])[0]
    entry.parent.mkdir(parents=True)
    entry.write_text("<p>here")
    words = [
        sys.executable,
        "bench/crawler/sites.py",
        "--dir",
        str(tmp_path),
        "--port",
        "0",
        "postgresql-doc-15",
    ]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        seed = process.stdout.readline().strip()
        assert Client().get(seed).text == "<p>here"
        process.terminate()
        assert process.wait(10) == 0
    refused = subprocess.run(
        [*words[:-1], "no-such-package"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
