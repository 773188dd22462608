import gzip
from dataclasses import replace

import pytest

from tests.crawler.leases import lease
from thresher.core import Capture
from thresher.crawler.lease_result import page_settlement
from thresher.crawler.reading import page_reading
from thresher.crawler.reading.conditional import revisit_of
from thresher.crawler.reading.page_options import DEFAULT_OPTIONS, PageOptions
from thresher.crawler.reading.page_reading import page_response
from thresher.crawler.reading.page_response import with_dom
from thresher.crawler.reading.redirect_chain import MAX_REDIRECTS
from thresher.crawler.reading.rendered_page import RenderReport
from thresher.extract.markup.links import PageLinks
from thresher.frontier import Fault, HostSwitch, Outcome, Scope, canonicalize
from thresher.frontier.request_state import RequestState

HTML = ("Content-Type", "text/html; charset=utf-8")


def capture(body=b"", *headers, status=200, url="http://example.org/", truncated=None, started_ms=0):
    body = body.encode() if isinstance(body, str) else body
    return Capture(
        url=canonicalize(url),
        request=b"",
        response=b"",
        head_length=0,
        status=status,
        headers=headers or (HTML,),
        payload=body,
        started_ms=started_ms,
        elapsed_ms=0,
        peer="",
        truncated=truncated,
    )


def settled(*args, under=None, known=(), options=DEFAULT_OPTIONS, **more):
    return page_settlement(under or lease(), page_response(capture(*args, **more)), known, options)


def found(settlement):
    return [one.url.text for one in settlement.discoveries]


LINKS = '<a href="/a">a</a><a href="b#x">b</a><a href="/a">again</a><a href="http://other.org/">out</a>'


def test_links_in_scope_are_discovered_once_one_deeper():
    ends = settled(LINKS, under=lease(depth=3, max_depth=9, hops=2))
    assert ends.outcome is Outcome.FETCHED
    assert found(ends) == ["http://example.org/a", "http://example.org/b"]
    assert {(one.depth, one.max_depth, one.hops) for one in ends.discoveries} == {(4, 9, 0)}


def test_a_page_whose_links_are_lost_says_so(monkeypatch):
    nothing = PageLinks(base="http://example.org/", hrefs=(), metas=(), truncated=0)
    monkeypatch.setattr(page_reading, "extract_links", lambda *_: nothing)
    assert settled(LINKS).outcome is Outcome.FETCHED
    assert settled(LINKS).reason == page_reading.NO_LINKS
    assert settled("<p>A page without any link.").reason == ""


@pytest.mark.parametrize(
    "href", ["javascript:void(0)", "#top", "mailto:me@example.org", "http://other.org/", ""]
)
def test_an_anchor_that_leads_nowhere_is_no_lost_link(href):
    assert settled(f'<a href="{href}">x</a>').reason == ""


def test_known_urls_are_not_told_again():
    assert found(settled(LINKS, known={"http://example.org/a"})) == ["http://example.org/b"]


def test_links_at_the_greatest_depth_are_not_followed():
    assert found(settled(LINKS, under=lease(depth=2, max_depth=2))) == []
    assert found(settled(LINKS, under=lease(depth=1, max_depth=2))) != []


def test_only_html_has_links():
    assert found(settled(LINKS, ("Content-Type", "text/plain"))) == []
    assert found(settled("<!doctype html>" + LINKS, ("X", "no type"))) != []
    assert found(settled(LINKS, ("X", "no type"))) == []
    assert found(settled(LINKS, status=404)) == []


def test_links_are_found_behind_content_encoding():
    assert found(settled(gzip.compress(LINKS.encode()), HTML, ("Content-Encoding", "gzip"))) != []
    assert settled(b"no gzip", HTML, ("Content-Encoding", "gzip")).outcome is Outcome.FETCHED


@pytest.mark.parametrize(
    ("value", "followed"),
    [
        ("nofollow", False),
        ("noindex, NOFOLLOW", False),
        ("none", False),
        ("thresher: nofollow", False),
        ("otherbot: nofollow", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", True),
        ("noindex", True),
    ],
)
def test_x_robots_tag_is_obeyed(value, followed):
    assert bool(found(settled(LINKS, HTML, ("X-Robots-Tag", value)))) == followed


def test_meta_nofollow_is_obeyed():
    assert found(settled('<head><meta name="robots" content="nofollow"></head>' + LINKS)) == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_one_discovery_of_the_same_depth_one_hop_further(status):
    ends = settled(b"", ("Location", "/there"), status=status, under=lease(depth=2, hops=3))
    assert (ends.outcome, ends.reason) == (Outcome.REDIRECTED, "")
    assert found(ends) == ["http://example.org/there"]
    assert (ends.discoveries[0].depth, ends.discoveries[0].hops) == (2, 4)


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://other.org/", "out_of_scope"),
        ("//other.org/", "out_of_scope"),
        ("javascript:alert(1)", "bad_location"),
        ("file:///etc/passwd", "bad_location"),
        ("/", "to_itself"),
        ("", "no_location"),
    ],
)
def test_a_redirect_that_is_not_followed_says_why(location, reason):
    ends = settled(b"", ("Location", location), status=302)
    assert (ends.outcome, ends.reason, ends.discoveries) == (Outcome.REDIRECTED, reason, ())


def test_a_redirect_to_another_spelling_of_the_page_is_asked_for_again():
    for written, location in (("/%7Eann", "/~ann"), ("/?b=1&a=2", "/?a=2&b=1"), ("/?utm_source=x", "/")):
        under = lease(f"http://example.org{written}", token=77, generation=3, hops=2, interval_s=60)
        ends = settled(b"", ("Location", location), status=301, under=under)
        (again,) = ends.discoveries
        assert (ends.reason, again.url.wire) == ("", f"http://example.org{location}")
        assert (again.again, again.generation, again.hops, again.interval_s) == (77, 3, 2, 60)


def test_a_redirect_to_itself_that_sets_a_cookie_is_asked_for_again_with_it_where_cookies_are_kept():
    gate = (("Location", "/"), ("Set-Cookie", "seen=1; Path=/"))
    (again,) = settled(b"", *gate, status=302, options=PageOptions(cookies=True)).discoveries
    assert (again.url.text, again.again) == ("http://example.org/", 1)
    assert again.state.cookies == (("http://example.org/", "seen=1; Path=/"),)
    thrice = lease(state=again.state)
    for _ in range(2):
        ends = settled(b"", *gate, status=302, under=thrice, options=PageOptions(cookies=True))
        thrice = lease(state=ends.discoveries[0].state) if ends.discoveries else None
    assert (ends.reason, ends.discoveries) == ("to_itself", ())


def test_a_gate_that_wants_a_cookie_is_named_where_none_are_kept():
    gate = (("Location", "/"), ("Set-Cookie", "seen=1; Path=/"))
    ends = settled(b"", *gate, status=302)
    assert (ends.outcome, ends.reason, ends.discoveries) == (Outcome.REDIRECTED, "needs_cookie", ())


def test_what_a_listed_page_redirects_to_is_listed_and_no_trap():
    trap = "/a/b/a/b/a/b/"
    moved = settled(b"", ("Location", trap), status=301, under=lease(listed=True, priority=3))
    assert [(one.listed, one.priority) for one in moved.discoveries] == [(True, 3)]
    assert settled(b"", ("Location", trap), status=301).reason == "trap"
    nowhere = PageOptions(traps=HostSwitch(on=True, hosts={"example.org": False}))
    assert settled(b"", ("Location", trap), status=301, options=nowhere).reason == ""


def test_links_that_look_like_a_traps_are_followed_where_traps_are_not_looked_for():
    html = '<a href="/a/b/a/b/a/b/c">a</a><a href="http://other.org/a/b/a/b/a/b/c">b</a>'
    everywhere = lease(scope=Scope.of("any", canonicalize("http://example.org/")))
    here = PageOptions(traps=HostSwitch(on=True, hosts={"example.org": False}))
    assert found(settled(html, under=everywhere)) == []
    assert found(settled(html, under=everywhere, options=here)) == ["http://example.org/a/b/a/b/a/b/c"]


def test_the_next_visit_knows_of_no_redirect():
    under = lease(
        interval_s=60,
        state=RequestState(chain=b"c" * 11, cookies=(("http://example.org/", "a=b"),)),
    )
    assert settled("<p>words", under=under).next_state.chain == b""
    assert settled("<p>words", under=under).next_state.cookies == ()


def test_a_chain_of_redirects_ends():
    at_the_end = lease(hops=MAX_REDIRECTS, scope=Scope.of("any", canonicalize("http://example.org/")))
    ends = settled(b"", ("Location", "/there"), status=302, under=at_the_end)
    assert (ends.reason, ends.discoveries) == ("too_many_hops", ())


def test_a_page_that_is_not_whole_is_fetched_with_the_links_it_has():
    ends = settled(LINKS, truncated="length")
    assert (ends.outcome, ends.reason) == (Outcome.FETCHED, "truncated_length")
    assert found(ends)


def test_retry_after_holds_the_host():
    ends = settled(b"", ("Retry-After", "7"), status=429)
    assert (ends.outcome, ends.retry_after_ms, ends.hold_ms) == (Outcome.RETRY, 7_000, 7_000)


def test_a_page_is_sketched_and_what_is_no_page_is_not():
    assert settled("<p>words").sketch is not None
    assert settled("<p>words").sketch == settled("<p>words 17").sketch != settled("<p>other words").sketch
    assert settled("<p>words", under=lease(depth=9, max_depth=9)).sketch is not None
    assert settled("words", ("Content-Type", "text/plain")).sketch is None
    assert settled("<p>words", status=404).sketch is None
    assert settled("").sketch is None


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_gone_is_gone(status):
    assert settled("<p>no such page", status=status).outcome is Outcome.GONE


def test_that_a_page_is_as_it_was_counts_where_somebody_asked():
    asked = RequestState(etag='"v1"', digest="sha1:X", date_ms=1)
    assert settled("", status=304, under=lease(state=asked)).outcome is Outcome.UNCHANGED
    assert settled("", status=304).outcome is Outcome.RETRY
    assert (
        settled("", status=304, under=lease(state=RequestState(digest="sha1:X", date_ms=1))).outcome
        is Outcome.RETRY
    )


def test_the_same_payload_is_unchanged_and_leads_nowhere_new():
    body = '<a href="/x">x</a>'
    found = page_response(capture(body))
    again = settled(body, under=lease(state=RequestState(sha256=found.sha256, date_ms=1)))
    assert (again.outcome, again.discoveries) == (Outcome.UNCHANGED, ())
    for sha256 in ("sha256:other", ""):  # of a collision of SHA-1; of an archive of others
        state = RequestState(digest=found.digest, sha256=sha256, date_ms=1)
        other = settled(body, under=lease(state=state))
        assert (other.outcome, len(other.discoveries)) == (Outcome.FETCHED, 1)
        assert revisit_of(state, page_response(capture(body)), lease().url) is None


def test_the_next_visit_is_told_what_this_one_was():
    visited = lease(interval_s=3600)
    first = settled("words", HTML, ("ETag", '"v1"'), under=visited, started_ms=5)
    noted = first.next_state
    assert (noted.etag, noted.digest) == ('"v1"', page_response(capture("words")).digest)
    again = settled("", ("ETag", '"v2"'), status=304, under=replace(visited, state=first.next_state))
    assert again.next_state == replace(noted, etag='"v2"')
    assert (
        settled("", status=404, under=replace(visited, state=first.next_state)).next_state == RequestState()
    )
    assert settled("words", under=lease()).next_state == RequestState()


def test_links_into_a_trap_are_left_out():
    assert found(settled('<a href="/a/b/a/b/a/b/c">x</a><a href="/fine">y</a>')) == [
        "http://example.org/fine"
    ]
    ends = settled(b"", ("Location", "/a/b/a/b/a/b/c"), status=302)
    assert (ends.outcome, ends.reason, ends.discoveries) == (Outcome.REDIRECTED, "trap", ())


BLOCK = "<title>Just a moment...</title><script>window._cf_chl_opt={}</script><a href=/a>"


@pytest.mark.parametrize("status", [200, 403])
def test_a_block_is_asked_again_later_and_leads_nowhere(status):
    ends = settled(BLOCK, status=status)
    assert (ends.outcome, ends.reason, ends.fault) == (Outcome.RETRY, "block_page", Fault.BUSY)
    assert (ends.discoveries, ends.sketch) == ((), None)


def test_a_denial_of_the_server_itself_is_an_answer():
    ends = settled(LINKS, status=403)
    assert (ends.outcome, ends.reason, ends.discoveries) == (Outcome.FETCHED, "status_403", ())


def test_a_soft_404_says_nothing_new():
    ends = settled("<title>Page not found</title><p>Some words of it</p><a href=/a>home</a>")
    assert (ends.outcome, ends.reason, ends.sketch) == (Outcome.FETCHED, "soft_404", 0)
    assert found(ends) == ["http://example.org/a"]


def test_links_of_a_folder_are_relative_to_it_and_a_query_alone_to_the_page():
    ends = settled(
        '<a href="?b">x</a><a href="c">y</a><a href="../d">z</a>',
        url="http://example.org/u/v?a",
        under=lease("http://example.org/u/v?a"),
    )
    assert found(ends) == ["http://example.org/u/v?b", "http://example.org/u/c", "http://example.org/d"]


def test_a_base_longer_than_any_url_has_no_relative_links():
    base = "http://example.org/" + "x" * 100_000 + "/"
    ends = settled(
        f'<base href="{base}">'
        + "".join(f"<a href={n}>" for n in range(1_000))
        + LINKS.replace("/a", "http://example.org/a")
    )
    assert found(ends) == ["http://example.org/a"]


def test_a_literal_redirect_of_a_script_is_a_link_of_the_page():
    settlement = settled(b"<script>location.replace('/home.html')</script>")
    assert (found(settlement), settlement.reason) == (["http://example.org/home.html"], "")


SHELL = b"<html><body><h1>Shop</h1><div id=goods></div><script src=/app.js></script></body></html>"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (SHELL, "unrendered"),
        (b"<html><body>short<script>count()</script></body></html>", "unrendered"),
        (b"<html><body>short</body></html>", ""),
        (b"<html><body>short<script type=application/ld+json>{}</script></body></html>", ""),
        (b"<html><body>short<iframe src=/x></iframe><script>count()</script></body></html>", ""),
        (b"<html><body>" + b"<p>A page of text. " * 60 + b"<script src=/app.js></script></body></html>", ""),
    ],
)
def test_a_page_that_says_little_and_has_scripts_is_counted_if_no_browser_rendered_it(body, reason):
    assert settled(body).reason == reason


def test_a_rendered_page_is_not_counted_as_unrendered():
    response = with_dom(page_response(capture(SHELL)), SHELL, RenderReport())
    assert page_settlement(lease(), response).reason == ""
