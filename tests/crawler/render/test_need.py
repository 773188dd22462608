"""Only pages without text of their own need a browser; every other page is read as it came."""

import random
import tarfile

import pytest

from tests.shared import read_tar_file, shared_file
from thresher.crawler.render.render_need import render_need
from thresher.crawler.render.render_settings import RenderSettings

REACT = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"/><title>React App</title>
<script defer="defer" src="/static/js/main.8f2a.js"></script></head><body>
<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>"""
VUE = b"""<!DOCTYPE html><html><head><title>x</title>
<script type=module crossorigin src=/assets/index.js></script></head>
<body><div id=app><!-- filled later --></div></body></html>"""
ANGULAR = b"""<html><head><base href="/"></head><body><app-root></app-root>
<script src="runtime.js" type="module"></script></body></html>"""
NEXT = b"""<html><body><div id="__next"></div>
<script id="__NEXT_DATA__" type="application/json">{}</script><script src=/_next/x.js></script></body>"""
SHELL = b"""<html><head><title>Shop</title></head><body><div class=loader>Loading...</div>
<script src=/bundle.js></script></body></html>"""
WRITTEN = b"<html><body><script>document.write('<p>all of it</p>')</script></body></html>"
GERMAN = (
    b"<html><body><noscript>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</noscript>"
    b"<p>x<script src=a.js></script>"
)


@pytest.mark.parametrize(
    ("html", "why"),
    [
        (REACT, "empty_root"),
        (VUE, "empty_root"),
        (ANGULAR, "empty_root"),
        (NEXT, "empty_root"),
        (SHELL, "little_text"),
        (WRITTEN, "script"),
        (GERMAN, "noscript"),
        (SHELL.upper(), "little_text"),
    ],
)
def test_a_shell_that_a_script_fills_needs_a_browser(html, why):
    assert render_need(html) == why


NAV = b"<nav>" + b"<a href=/a>Section name here</a>" * 20 + b"</nav>"
FOOTER = b"<footer>Copyright 2026 Example corp all rights reserved contact imprint</footer>" * 3
COOKIES = (
    b"<div class=cookie>" + b"We and our partners use cookies to store and access data. " * 10 + b"</div>"
)
APP = b"<script src=/app.js></script>"
LIST = b"<html><body><h1>List</h1><div id=list></div><script>%b</script></body></html>"


@pytest.mark.parametrize(
    "html",
    [
        LIST % b"fetch('/x').then(r => r.json()).then(d => list.insertAdjacentHTML('beforeend', d.html))",
        LIST % b"fetch('/x').then(r => r.text()).then(t => list.innerHTML = t)",
        LIST % b"fetch('/x').then(r => r.json()).then(d => { for (const i of d) {"
        b"const e = document.createElement('p'); e.textContent = i.t; list.appendChild(e) } })",
        LIST % b"for (const i of ['one', 'two']) list.append(i)",
        LIST % b"var x = new XMLHttpRequest(); x.onload = () => { list.outerHTML = x.responseText }",
        b"<body><h1>Entries</h1>"
        + APP.replace(b"src=/app.js", b"")
        + b"<script>location = '/post/' + id</script>",
        b"<body>" + NAV + b"<main id=content></main>" + FOOTER + APP,
        b"<body>" + FOOTER + b"<div id=shell></div>" + APP,
        b"<body>" + COOKIES + b"<div id=content></div>" + APP,
        b"<body><header>" + b"<a href=/a>Products</a>" * 30 + b"</header><div id=page-root></div>" + APP,
        b"<body>" + NAV + b"<page-view></page-view>" + APP,
        b"<body><ul x-data=list><template x-for='i in items'><li x-text=i></li></template></ul>" + APP,
        b"<body>" + NAV + b"<p v-for='p in page'>{{ p }}</p>" + APP,
        b"<body>" + NAV + b"<div hx-get=/rows hx-trigger='load delay:1s'>Loading</div>" + APP,
    ],
)
def test_a_page_that_scripts_build_is_found_in_whatever_frame_it_stands(html):
    assert render_need(html) is not None


TEXT = b"<p>" + b"A sentence that a reader can read without any script at all. " * 20


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<p>It works!</p>",
        b"<html><body><h1>It works!</h1></body></html>",
        b"<html><body><div id=root></div></body></html>",
        REACT.replace(b'<div id="root"></div>', b'<div id="root">' + TEXT + b"</div>"),
        REACT.replace(b'<div id="root"></div>', b'<div id="root"></div>' + TEXT),
        b"<body>"
        + TEXT
        + b"<script src=/widget.js></script><noscript>Enable JavaScript for comments</noscript>",
        b"<body>moved<script type=application/ld+json>" + b"x" * 5_000 + b"</script>",
        b"<body>x<iframe src=/content></iframe><script src=/frame.js></script>",
        b"<head><meta http-equiv=refresh content='0;url=/x'></head><body>x<script src=/a.js></script>",
        b"<body>short and quiet<script>track()</script>",
        b"<body>short and quiet<script>window.dataLayer = window.dataLayer || []; dataLayer.push({a: 1})</script>",
        (
            b"<body>short and quiet<script>var e = document.createElement('script'); e.src = '/t.js';"
            b"document.head.appendChild(e)</script>"
        ),
        b"<body>short and quiet<script src=https://www.googletagmanager.com/gtag/js></script>",
        b"<body>" + NAV + b"<main>" + TEXT[:500] + b"</main><div id=comments></div>" + APP,
        b"<body>moved<script>location.replace('/home.html')</script>",
    ],
)
def test_a_page_with_text_or_without_scripts_needs_no_browser(html):
    assert render_need(html) is None


@pytest.mark.parametrize(
    "unit",
    [
        b"<noscript>",
        b"<div id=root",
        b"<div id=root>",
        b"<script",
        b"<script>",
        b"<!--",
        b"<",
        b"<meta ",
        b"<svg>x",
    ],
)
def test_no_page_makes_the_decision_slow(unit):
    for html in (unit * 200_000, b"<script>" + unit * 200_000, b"<body><script></script>" + unit * 200_000):
        render_need(html)


def test_any_bytes_have_a_decision():
    chance = random.Random(7)
    for _ in range(200):
        render_need(
            b"".join(
                chance.choice(
                    [b"<body", b"<script>", b"</script>", b"<div id=app>", b"\0", b"\xff", b"x" * 99]
                )
                for _ in range(40)
            )
        )


@pytest.mark.shared
def test_hardly_any_ordinary_page_is_rendered():
    zstandard = pytest.importorskip("zstandard")
    path = shared_file("extraction/pages.tar.zst")
    with (
        path.open("rb") as file,
        tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(file), mode="r|") as pages,
    ):
        asked = [render_need(read_tar_file(pages, member)) for member in pages if member.isfile()]
    assert len(asked) > 1_000
    assert sum(why is not None for why in asked) <= len(asked) / 200


def test_a_host_may_have_a_rule_of_its_own_and_those_under_it_too():
    settings = RenderSettings(
        render="auto", render_hosts={"example.org": "never", "shop.example.org": "always"}
    )
    hosts = ["example.org", "www.example.org", "shop.example.org", "a.shop.example.org", "example.com"]
    assert [settings.mode(host) for host in hosts] == ["never", "never", "always", "always", "auto"]
    assert RenderSettings(render_hosts={"example.org": "auto"}, screenshot=True).renders
    assert not RenderSettings(render_hosts={"example.org": "never"}).renders
