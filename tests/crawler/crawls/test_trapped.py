"""Real crawls of endless sites beside an honest one: the endless ones are recognised, and the honest one is complete."""

from hashlib import sha256

import pytest

from tests.crawler.crawls.test_crawl import web
from tests.crawler.server import Server, links, spelled
from thresher.crawler.worker import run_worker

MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)


def token(text):
    return sha256(text.encode()).hexdigest()[:16]


def calendar(path):
    """Return a page for every month, with links to its neighbours and its days."""
    _, _, year, month = (f"{path}/2026/1".split("/"))[:4]
    number = int(year) * 12 + int(month) - 1
    around = [f"/calendar/{n // 12}/{n % 12 + 1}" for n in (number - 1, number + 1, number + 12)]
    return links(*around, text=f"<h1>{MONTHS[number % 12]} {year}</h1><p>No events in this month.")


def sessions(path):
    """Return one of six pages, whose links each carry a new session in the path."""
    name = path.rpartition("/")[2] or "home"
    fresh = [
        f"/{token(path + str(n))}/{page}" for n, page in enumerate(("home", "goods", "cart", "help", "terms"))
    ]
    return links(*fresh, text=f"<h1>Our {name}</h1><p>You are visitor {token(path)}.")


def same(path):
    """Return the same page for every path, with a link to another path."""
    return links(
        *(f"/{token(path + str(n))}.html" for n in range(5)), text="<h1>Welcome</h1><p>Under construction."
    )


@pytest.mark.parametrize(
    ("trap", "start"), [(calendar, "/calendar/2026/1"), (sessions, "/x/home"), (same, "/index.html")]
)
def test_a_trap_is_recognised_within_some_hundred_pages_and_an_honest_site_beside_it_is_complete(
    crawl, site, trap, start
):
    site.fallback = web(150)
    with Server(address="127.0.0.2").in_thread() as endless:
        endless.fallback = trap
        crawl.seed(f"{site.url}/0", f"{endless.url}{start}")
        run_worker(crawl.config("w", max_time_s=60.0))
    assert crawl.stats.is_drained
    assert {path for path in site.paths if path != "/robots.txt"} == {f"/{n}" for n in range(150)}
    assert endless.paths.total() <= 130
    assert crawl.stats.discarded.get("trap", 0) + crawl.stats.reasons.get("refused:trap", 0) > 0


def test_an_honest_site_of_many_similar_pages_is_complete(crawl, site):
    site.fallback = lambda path: links(
        *(
            f"/item?id={int(path.partition('=')[2] or 0) * 3 + n}"
            for n in range(3)
            if path.count("=") == 0 or int(path.partition("=")[2]) < 130
        ),
        text=f"<p>In this shop you find widget {spelled(path.partition('=')[2] or 0)}.",
    )
    crawl.seed(f"{site.url}/item")
    run_worker(crawl.config("w", max_time_s=60.0))
    assert crawl.stats.is_drained
    assert crawl.stats.discarded == {}
    assert crawl.stats.outcomes["fetched"] > 390
