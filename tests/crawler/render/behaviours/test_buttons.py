"""Which buttons are clicked in a real Chromium: those that load more or answer a consent banner, and none that buys."""

import re

import pytest

from tests.crawler.server import page

pytestmark = pytest.mark.usefixtures("chromium")
NOTE = "<script>const note = what => document.body.append(' did-' + what + '.');</script>"


def clicked(rendered):
    """Return what the buttons of a page noted, in order."""
    return re.findall(r"did-(\w+)\.", rendered.html.decode())


def shop(body):
    return {"/": page(f"<!doctype html>{NOTE}<body>{body}")}


def test_buttons_that_load_more_are_clicked_until_they_add_nothing_and_no_other_button_is(stage):
    rendered, server = stage.render(
        shop(
            """<ul></ul>
            <button id=more onclick="const item = document.createElement('li'); item.textContent = 'item';
              document.querySelector('ul').append(item);
              if (document.querySelectorAll('li').length == 4) this.remove();">Load more posts (12)</button>
            <a href="?page=2" onclick="event.preventDefault(); note('link'); this.remove()">Show more</a>
            <button onclick="note('idle')">Mehr anzeigen</button>
            <button onclick="note('less')">Show less</button>
            <button onclick="note('buy')" aria-label="Buy now">Load more</button>
            <button onclick="note('away')"><a href="https://elsewhere.test/">Load more</a></button>
            <a href="/other" onclick="note('other')">Load more</a>
            <form action=/order><button onclick="note('submit')">Show more</button></form>
            <nav><button onclick="note('menu')">More</button></nav>
            <button hidden onclick="note('hidden')">Load more</button>"""
        ),
        behaviours=("more",),
    )
    assert rendered.html.count(b"<li>") == 4
    assert sorted(set(clicked(rendered))) == ["idle", "link"]
    assert clicked(rendered).count("idle") == 1, "a button that adds nothing is clicked once"
    assert rendered.report.behaviours.actions == {"more": "6 clicks"}
    assert (rendered.report.navigations, dict(server.paths)) == ((), {"/": 1})


BANNER = """<div id=onetrust-banner-sdk>We use cookies.%s</div>"""
OTHER = """<div class=cookie-bar style="position: fixed">We use cookies.%s</div>"""
REJECT = """<button id=onetrust-reject-all-handler onclick="note('reject')">Reject</button>"""
"""A banner that is still there when it was answered, because it fades away, is not answered again."""
ACCEPT = """<button id=onetrust-accept-btn-handler onclick="note('accept'); this.parentNode.remove()">%s</button>"""


@pytest.mark.parametrize(
    ("banner", "does", "says"),
    [
        (BANNER % (ACCEPT % "Accept" + REJECT), ["reject"], "onetrust reject"),
        pytest.param(BANNER % (ACCEPT % "OK"), ["accept"], "onetrust accept", marks=pytest.mark.slow),
        (BANNER % (ACCEPT % "Accept and subscribe for 4,99 €"), [], "onetrust left alone"),
        pytest.param(
            BANNER % (ACCEPT % "Akzeptieren und kaufen"), [], "onetrust left alone", marks=pytest.mark.slow
        ),
        pytest.param(
            BANNER % f"<form action=/buy method=post>{ACCEPT % 'Accept'}</form>",
            [],
            "onetrust left alone",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            BANNER % f"<a href=//shop.test/buy>{ACCEPT % 'Accept'}</a>",
            [],
            "onetrust left alone",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            OTHER
            % """<button onclick="note('buy')">Accept and buy</button><a href=/privacy>OK</a>
            <button onclick="note('no'); this.parentNode.remove()">Only necessary cookies</button>""",
            ["no"],
            "other reject",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_consent_banner_is_answered_unless_its_button_buys_or_leads_away(stage, banner, does, says):
    rendered, server = stage.render(shop(banner), behaviours=("consent",))
    assert (clicked(rendered), rendered.report.behaviours.actions) == (does, {"consent": says})
    assert (rendered.report.navigations, dict(server.paths)) == ((), {"/": 1})


@pytest.mark.slow
def test_a_button_that_navigates_or_posts_changes_nothing_and_only_an_address_is_a_link(stage):
    buttons = """<button onclick="fetch('/buy', {method: 'POST'})">Load more</button>
    <button onclick="document.forms[0].submit()">Show more</button><form action=/order method=post></form>
    <button onclick="location = '/elsewhere'">View more</button>"""
    rendered, server = stage.render(shop(buttons), behaviours=("more",))
    assert dict(server.paths) == {"/": 1}
    assert rendered.report.navigations == (f"{server.url}/elsewhere",)
    assert rendered.refusals["method"] == 1


def test_each_page_that_next_replaces_stays_in_the_dom_in_order(stage):
    body = """<h1>List</h1><div id=list><p>row-1</p></div>
    <div class=pagination><button aria-label="Next page" onclick="turn()">&rsaquo;</button></div><p>end</p>
    <script>let at = 1; function turn() { if (at == 4) return;
      document.getElementById('list').innerHTML = '<p>row-' + ++at + '</p>'; }</script>"""
    rendered, _ = stage.render(shop(body), behaviours=("next",))
    rows = [part[:5] for part in rendered.html.decode().split("<p>")[1:]]
    assert rows[:4] == ["row-1", "row-2", "row-3", "row-4"]
    assert rows[4] == "end</"
    assert rendered.report.behaviours.actions == {"next": "4 clicks"}


@pytest.mark.slow
def test_media_are_started_if_autoplay_is_switched_on(stage):
    body = "<video src=/film.mp4 preload=none onplay=\"note('play')\"></video>"
    assert clicked(stage.render(shop(body), behaviours=("scroll",))[0]) == []
    rendered, _ = stage.render(shop(body), behaviours=("autoplay",))
    assert clicked(rendered) == ["play"]
    assert rendered.refusals["media"] >= 1


@pytest.mark.slow
def test_a_button_that_never_returns_costs_its_own_page_the_rest_of_its_time(stage):
    rendered, _ = stage.render(
        shop("<p>before</p><button onclick='for (;;);'>Load more</button>"), behaviours=("more",), seconds=4
    )
    assert (rendered.report.problem, rendered.report.behaviours.cut) == ("render_timeout", "render_timeout")
    assert b"<p>before" in rendered.html


@pytest.mark.slow
def test_a_page_that_hides_the_functions_of_its_document_is_left_alone(stage):
    names = (
        "body",
        "querySelectorAll",
        "scrollingElement",
        "documentElement",
        "createElement",
        "implementation",
    )
    hiding = "".join(f"<form name={name}><button type=button>Load more</button></form>" for name in names)
    every = ("consent", "more", "scroll", "next", "autoplay")
    script = "<script>new IntersectionObserver(() => 0).observe(document.querySelector('p'))</script>"
    rendered, server = stage.render(shop(f"<p>words</p>{script}{hiding}"), behaviours=every)
    assert (rendered.report.problem, rendered.report.behaviours.names) == ("", every)
    assert b"<p>words" in rendered.html
    assert dict(server.paths) == {"/": 1}
