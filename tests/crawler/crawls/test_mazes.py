"""Endless mazes are recognised within some hundred fetches, by novelty alone, and honest sites are not starved."""

from itertools import islice
from math import inf
from zlib import crc32

import pytest

from tests.crawler import traps
from thresher.extract.sketch import sketch
from thresher.frontier import canonicalize
from thresher.frontier.urls.novelty import (
    DOMAIN,
    HOST,
    TEMPLATE,
    is_let_through,
    starved_level,
    update_ring,
    update_standings,
)
from thresher.frontier.urls.scope import registered_domain
from thresher.frontier.urls.template import url_template

DISCOVERED = 3_000


class Crawl:
    """Applies the novelty rule to pages in the order in which they come."""

    def __init__(self):
        self.fetched, self.refused, self.starved_after = 0, 0, inf
        self._rings, self._standings = {}, {}

    def visit(self, url, html, *, leads_on=True):
        """Return whether the page is fetched."""
        url = canonicalize(url)
        domain = registered_domain(url.host)
        levels = {(url.host, url_template(url)): TEMPLATE, (url.host,): HOST, domain: DOMAIN}
        standings = {key: self._standings.get(key, level.initial) for key, level in levels.items()}
        if starved_level(*standings.values()):
            if self.starved_after == inf:
                self.starved_after = self.fetched
            if not is_let_through(crc32(url.text.encode())):
                self.refused += 1
                return False
        self.fetched += 1
        self._rings[domain], new = update_ring(self._rings.get(domain, b""), sketch(html, url.text))
        self._standings |= zip(
            levels, update_standings(*standings.values(), new=new, leads_on=leads_on), strict=True
        )
        return True


def wander(maze, crawl=None):
    crawl = crawl or Crawl()
    for url, html in islice(maze, DISCOVERED):
        crawl.visit(url, html)
    return crawl


@pytest.mark.parametrize(
    ("maze", "fetches"),
    [
        (traps.calendar("http://a.test/cal/{year}/{month}"), 75),
        (traps.calendar("http://a.test/cal?y={year}&m={month}", "de"), 75),
        (traps.calendar("http://a.test/cal/{year}/{name}/", "ru"), 75),
        (traps.calendar("http://a.test/x/{year}-{month}.html", "ja"), 75),
        (
            traps.calendar("http://a.test/cal/{year}/{month}", "sw"),
            110,
        ),  # a language without sketches
        (traps.days(), 75),
        (traps.sessions("http://a.test/{token}/{name}.html"), 110),
        (traps.sessions("http://a.test/{name}.php?token={token}"), 110),
        (traps.sessions("http://a.test/{name};v={token}"), 110),
        (traps.same_page(), 75),
        (traps.soft_404(), 100),
        (traps.pagination(), 40 + 100),
        (traps.looping_relative_links(), 75),
        (traps.link_farm(), 110),
        (traps.facets(goods=5), 160),
        (traps.facets(goods=20), 300),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_maze_is_recognised(maze, fetches):
    crawl = wander(maze)
    assert crawl.starved_after <= fetches
    assert crawl.fetched <= fetches + DISCOVERED // 64 + 60


def test_random_words_are_not_recognised_as_a_maze():
    """Their pages are as new as honest ones. Budgets stop them."""
    assert wander(traps.random_words()).refused == 0


def honest(number, section="news"):
    name = traps.word(-number)
    words = "".join(f"<p>{traps.word(number * 100 + place)}</p>" for place in range(8))
    return f"http://a.test/{section}/{name}.html", traps.page(name, words)


def test_honest_pages_between_those_of_a_maze_are_all_fetched():
    crawl = Crawl()
    maze = traps.calendar("http://a.test/cal/{year}/{month}")
    for number in range(2_000):
        assert crawl.visit(*honest(number))
        for url, html in islice(maze, 5):
            crawl.visit(url, html)
    assert crawl.refused > 9_000


def test_a_maze_after_a_long_honest_past_is_recognised():
    crawl = Crawl()
    for number in range(1_000):
        crawl.visit(*honest(number))
    wander(traps.same_page(), crawl)
    assert crawl.starved_after <= 1_000 + 130


def test_a_manual_of_names_and_numbers_is_fetched_whole():
    """The manual has many pages without links in a row, each with only its own name and a number as text."""
    crawl = Crawl()
    for number in range(100):
        assert crawl.visit(*honest(number, "manual"))
    for number in range(3_000):
        name = traps.word(number)
        html = traps.page(name, f"<p>const {name} = {number};</p>")
        assert crawl.visit(f"http://a.test/manual/{name}.html", html, leads_on=False)


def test_a_parked_domain_is_starved_although_its_pages_have_no_links():
    crawl = Crawl()
    for url, html in islice(traps.same_page(), DISCOVERED):
        crawl.visit(url, html, leads_on=False)
    assert crawl.starved_after <= 90


def test_a_starved_template_with_new_text_is_fetched_again():
    crawl = wander(traps.same_page())
    refused_before = crawl.refused
    for number in range(2_000):
        _, html = honest(number)
        crawl.visit(f"http://a.test/{traps.token(number)}/{traps.token(-number)}.html", html)
    assert crawl.refused - refused_before < 400
