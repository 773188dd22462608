"""Rows 5 and 9: a robots.txt that has changed when it is requested again, a day later.

The day is over when the path /turn has been requested: `project.ClockMover` makes the rules of the origins in
`WebAddress.stale` a day older, and then removes the origins from the set.
"""

import asyncio

from tests.crawler.server import links, page, redirect
from tests.hostile.host import Exchange
from tests.hostile.rows.answers import broken, in_turn, silence, text, torn
from tests.hostile.rows.robots import REFUSED
from tests.hostile.rows.row import Row, WebAddress

BEFORE = text("User-agent: *\nDisallow: /private\n")
PATIENCE = 100
"""Tenths of a second."""


def turned(there: WebAddress, number: int, name: str, first, *then, behind: tuple[str, ...], **more) -> Row:
    """/turn leads to the pages `behind` it, which nobody can have requested before the rules were old."""

    async def turn(exchange: Exchange):
        origin = f"http://{exchange.header('host')}"
        there.stale.add(origin)
        for _ in range(PATIENCE):
            if origin not in there.stale:
                break
            await asyncio.sleep(0.1)
        await exchange.send(links(*behind))

    return Row(
        number=number,
        name=name,
        robots=in_turn(first, *then),
        answers={"/turn": turn, **{path: page(f"page {path}") for path in behind}},
        links=("/turn",),
        **more,
    )


def cached(there: WebAddress) -> list[Row]:
    """Return a row whose new rules cannot be fetched: the old rules hold."""

    def row(name, *then):
        return turned(
            there,
            5,
            f"robots of before, now {name}",
            BEFORE,
            *then,
            behind=("/after", "/private"),
            ended={"/private": REFUSED, "/after": "fetched:"},
            asked={"/robots.txt": (2, 6), "/after": (1, 1), "/private": (0, 0)},
        )

    return [
        row("503", text("", status="503 Busy")),
        row("500 with a page", page("<p>User-agent: *</p>", status="500 Oops")),
        row("429 with Retry-After", text("", "Retry-After: 2", status="429 Slow")),
        row("silent", silence),
        row("reset", broken),
        row("broken off", torn),
        row("503 and then the same", text("", status="503 Busy"), BEFORE),
    ]


def changed(there: WebAddress) -> list[Row]:
    """Return a row whose new rules apply to pages that wait already."""

    def row(name, first, then, **more):
        return turned(there, 9, f"robots that {name}", first, then, behind=("/after", "/private"), **more)

    refused = {"ended": {"/private": REFUSED}, "asked": {"/after": (1, 1), "/private": (0, 0)}}
    had = {"asked": {"/after": (1, 1), "/private": (1, 1)}}
    return [
        row("comes to forbid", text("User-agent: *\nAllow: /\n"), BEFORE, **refused),
        row("was not there, and forbids", text("", status="404 Not Found"), BEFORE, **refused),
        row("comes to allow", BEFORE, text("User-agent: *\nDisallow:\n"), **had),
        row("is gone", BEFORE, text("", status="404 Not Found"), **had),
        row("is empty now", BEFORE, text(""), **had),
        turned(
            there,
            9,
            "robots that forbids all",
            text(""),
            text("User-agent: *\nDisallow: /\n"),
            behind=("/after-1", "/after-2"),
            good=False,
            ended={"/after-1": REFUSED, "/after-2": REFUSED},
            asked={"/after-1": (0, 0), "/after-2": (0, 0)},
        ),
        turned(
            there,
            9,
            "robots that moves",
            text(""),
            redirect("/rules.txt"),
            behind=("/after", "/rules.txt"),
            asked={"/after": (1, 1), "/rules.txt": (1, 2)},
            good=True,
        ),
    ]


def rows(there: WebAddress) -> list[Row]:
    return [*cached(there), *changed(there)]
