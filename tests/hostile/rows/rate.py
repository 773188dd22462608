"""Rows 13 to 19: hosts that ask for time, are slow, dead, or very large."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.crawler.server import links, page, spelled
from tests.hostile.host import Exchange, Host, reset
from tests.hostile.rows.answers import in_turn
from tests.hostile.rows.row import LONG_S, Row, WebAddress

BLOCK_PAGE = """<!doctype html><html><head><title>Just a moment...</title></head><body>
<h1>Checking your browser before accessing this site</h1><p>Please enable JavaScript and cookies to continue</p>
<form id="challenge-form" action="/cdn-cgi/challenge"><div class="g-recaptcha" data-sitekey="x"></div>
<p>Verify you are human by completing the action below.</p></form></body></html>"""


def busy(status, *headers):
    return page("later", *headers, status=status)


def rested(path, seconds, fewest=2):
    """Return a check that nothing is requested from the host for this long after the response of a path."""

    def judge(seen):
        times = sorted(one.begun for one in seen.host.log)
        first = next(one.ended for one in seen.host.log if one.path == path)
        later = [seen.between(first, at) for at in times if at > first]
        assert later
        assert min(later) >= seconds * 0.95, sorted(later)[:3]
        assert seen.host.paths[path] >= fewest

    return judge


def retry_after() -> list[Row]:
    def row(name, status, header, seconds, most=3):
        return Row(
            number=13,
            name=f"{status[:3]} with Retry-After {name}",
            answers={"/busy": in_turn(busy(status, header), page("served"))},
            ended={"/busy": "fetched:"},
            asked={"/busy": (2, most)},
            long=seconds > LONG_S,
            extra_check=rested("/busy", seconds),
        )

    def date(**of):
        return "Retry-After: " + format_datetime(datetime.now(UTC) + timedelta(**of), usegmt=True)

    ever = Row(
        number=13,
        name="429 for ever",
        answers={"/busy": busy("429 Slow", "Retry-After: 1")},
        ended={"/busy": "failed:status_429"},
        asked={"/busy": (2, 4)},
    )
    return [
        row("in seconds", "429 Slow", "Retry-After: 3", 3),
        row("in seconds", "503 Busy", "Retry-After: 3", 3),
        row("of a date", "503 Busy", date(seconds=60), 5),  # the crawl's clock may be ahead of this one
        row("of a past date", "503 Busy", date(days=-9), 0.9),
        row("of a past date", "429 Slow", date(days=-9), 0.9),
        row("of ten years", "429 Slow", "Retry-After: 315360000", 3500),
        row("of a number no clock has", "503 Busy", f"Retry-After: {10**30}", 3500),
        row("of nonsense", "503 Busy", "Retry-After: soon", 0.9),
        row("of a negative number", "429 Slow", "Retry-After: -5", 0.9),
        row(
            "of RFC 850's form",
            "503 Busy",
            f"Retry-After: {datetime.now(UTC) + timedelta(days=9):%A, %d-%b-%y %H:%M:%S} GMT",
            3500,
        ),
        row(
            "of asctime's form",
            "429 Slow",
            f"Retry-After: {datetime.now(UTC) + timedelta(days=9):%a %b %e %H:%M:%S %Y}",
            3500,
        ),
        row("of a fraction", "503 Busy", "Retry-After: 2.5", 0.9),
        row("left out", "429 Slow", "X-Rate: 1", 0.9),
        ever,
    ]


def forbidden_after(pages) -> Row:
    served = []

    def answer(path):
        if path.startswith("/p-"):
            served.append(path)
            return page(f"page {spelled(path[3:])}") if len(served) <= pages else busy("403 Forbidden")
        return None

    def paused(seen):
        times = sorted(one.begun for one in seen.host.log if one.path.startswith("/p-"))[pages:]
        gaps = [seen.between(one, two) for one, two in itertools.pairwise(times)]
        assert not gaps or max(gaps) >= 10, "403 after 403, and no pause"
        assert len(gaps) < 30 or max(gaps[:30]) >= 10, gaps[:30]

    return Row(
        number=14,
        name="403 for everything after some pages",
        fallback=answer,
        links=tuple(f"/p-{number}" for number in range(100)),
        good=False,
        long=True,
        extra_check=paused,
    )


def slow() -> list[Row]:
    async def later(exchange: Exchange):
        await asyncio.sleep(0.6)
        await exchange.send(page(f"slow {exchange.path}"))

    def judge(seen):
        slow = [one for one in seen.host.log if one.path.startswith("/slow")]
        gaps = [seen.between(one.ended, two.begun) for one, two in itertools.pairwise(slow)]
        assert gaps
        assert min(gaps[1:]) >= 0.3, f"a host that takes 0.6 s is asked again after {gaps}"

    return [
        Row(
            number=16,
            name="takes its time for each page",
            answers={f"/slow-{number}": later for number in range(4)},
            extra_check=judge,
        )
    ]


async def breaks_at_once(_: Host, __, writer):
    reset(writer)


def few_connections(most):
    def judge(seen):
        assert len(seen.host.connected) <= most, len(seen.host.connected)
        assert seen.outcomes["failed:dead_reset"] >= 300

    return judge


def rows(there: WebAddress) -> list[Row]:
    wide = 1_500
    return [
        *retry_after(),
        forbidden_after(5),
        Row(
            number=15,
            name="a block page with status 200",
            answers={"/blocked": page(BLOCK_PAGE)},
            asked={"/blocked": (1, 3)},
            kept={"/blocked": None},
            ended={"/blocked": "*:*block*"},
        ),
        Row(
            number=15,
            name="a block page with status 403",
            answers={"/blocked": page(BLOCK_PAGE, "cf-mitigated: challenge", status="403 Forbidden")},
            asked={"/blocked": (1, 3)},
            ended={"/blocked": "*:*block*"},
        ),
        Row(
            number=15,
            name="a block page once, and then the page",
            answers={"/blocked": in_turn(page(BLOCK_PAGE, status="503 Busy"), page("served"))},
            asked={"/blocked": (2, 2)},
            ended={"/blocked": "fetched:"},
        ),
        Row(
            number=15,
            name="a page about block pages",
            answers={
                "/about": page(
                    "<h1>How CAPTCHA works</h1>"
                    + "<p>A captcha asks whether you are human. Access denied, it may say.</p>" * 60
                )
            },
            asked={"/about": (1, 1)},
            ended={"/about": "fetched:"},
        ),
        *slow(),
        Row(
            number=18,
            name="one page with more links than the host has room for",
            answers={"/all": links(*(f"/w/{number}" for number in range(wide)))},
            fallback=lambda path: page(f"page {spelled(path[3:])}") if path.startswith("/w/") else None,
            asked={"/all": (1, 1)},
        ),
        Row(
            number=19,
            name="another port of the host where nobody listens",
            answers={f"/p-{number}": page(f"page {spelled(number)}") for number in range(20)},
            links=("http://127.1.19.1:9/dead", *(f"/p-{number}" for number in range(20))),
            asked={f"/p-{number}": (1, 1) for number in range(20)},
        ),
        Row(
            number=19,
            name="dead, with many URLs",
            talk=breaks_at_once,
            good=False,
            seeds=tuple(f"/dead-{number}" for number in range(300)),
            extra_check=few_connections(40),
        ),
    ]
