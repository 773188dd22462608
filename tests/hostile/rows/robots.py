"""Rows 1 to 11: what a robots.txt may do."""

import gzip
import itertools
from typing import Any

import brotli

from tests.crawler.server import page, redirect
from tests.hostile.rows.answers import broken, dripping, halved, in_turn, silence, text, torn
from tests.hostile.rows.row import LONG_S, Row, WebAddress

REFUSED = "refused:robots"
UNREACHABLE = "failed:robots_unreachable"


def nothing_is_asked(seen):
    """Check that no page is requested, because there is no robots.txt."""
    assert not [path for path in seen.host.paths if path != "/robots.txt"], seen.host.paths


def html() -> list[Row]:
    body = "<!doctype html><html><head><title>Oops</title></head><body>Not: here<p>Sorry</p></body></html>"
    return [
        Row(number=1, name="robots is an HTML page", robots=page(body), answers={"/free": page("free")}),
        Row(
            number=1,
            name="robots is an HTML page of 404 shape with status 200 and type text/plain",
            robots=text(body),
        ),
        Row(number=1, name="robots is empty", robots=text("")),
        Row(
            number=1, name="robots is a picture", robots=page(b"GIF89a\0\n\0Disallow: /\n", kind="image/gif")
        ),
        Row(
            number=1, name="robots is JSON", robots=page('{"error": "Disallow: /"}', kind="application/json")
        ),
        Row(number=1, name="robots 204", robots=b"HTTP/1.1 204 No Content\r\n\r\n"),
        Row(
            number=1,
            name="robots with rules and the type of HTML is obeyed",
            robots=page("User-agent: *\nDisallow: /private\n"),
            answers={"/private": page("no")},
            ended={"/private": REFUSED},
            never=("/private",),
        ),
    ]


def client_errors() -> list[Row]:
    statuses = (
        "404 Not Found",
        "410 Gone",
        "403 Forbidden",
        "401 Unauthorized",
        "400 Bad",
        "451 No",
        "418 Tea",
        "405 Not Allowed",
        "421 Misdirected",
    )
    return [
        Row(
            number=2,
            name=f"robots {status[:3]}",
            robots=text("User-agent: *\nDisallow: /\n", status=status),
            answers={"/free": page("free")},
        )
        for status in statuses
    ]


def too_many() -> list[Row]:
    busy = text("", "Retry-After: 2", status="429 Slow")
    rules = text("User-agent: *\nDisallow: /private\n")

    def deferred(seen):
        asked = [one for one in seen.host.log if one.path == "/robots.txt"]
        gaps = [seen.between(one.begun, two.begun) for one, two in itertools.pairwise(asked)]
        assert gaps[:2]
        assert min(gaps[:2]) >= 1.9, gaps
        assert min(one.begun for one in seen.host.log if one.path != "/robots.txt") > asked[2].begun

    return [
        Row(
            number=3,
            name="robots 429 twice and then rules",
            robots=in_turn(busy, busy, rules),
            answers={"/private": page("no")},
            ended={"/private": REFUSED},
            never=("/private",),
            extra_check=deferred,
        ),
        Row(
            number=3,
            name="robots 429 and no word of when",
            robots=in_turn(text("", status="429 Slow"), rules),
            answers={"/private": page("no")},
            ended={"/private": REFUSED},
            never=("/private",),
        ),
        Row(
            number=3,
            name="robots 429 for ever",
            robots=text("", status="429 Slow"),
            good=False,
            asked={"/robots.txt": (2, 6)},
            ended={"/": UNREACHABLE},
            extra_check=nothing_is_asked,
        ),
    ]


def unreachable() -> list[Row]:
    def row(name, answer, ended=UNREACHABLE):
        return Row(
            number=4,
            name=f"robots {name}",
            robots=answer,
            good=False,
            ended={"/": ended},
            asked={"/robots.txt": (2, 9)},
            extra_check=nothing_is_asked,
        )

    allow = "<html>User-agent: *\nAllow: /\n</html>"
    return [
        row("500 with a page", page(allow, status="500 Oops")),
        row("503", text(allow, status="503 Busy")),
        row("502", text("", status="502 Bad Gateway")),
        row("599", text("", status="599 Odd")),
        row("times out", silence, "failed:*"),
        row("is reset", broken, "failed:*"),
        row("breaks off", torn, "failed:*"),
        row("drips", dripping, "failed:*"),
        row("breaks off in chunks", halved, "failed:*"),
        Row(
            number=4,
            name="robots 503 once and then rules",
            robots=in_turn(text("", status="503 Busy"), text("User-agent: *\nDisallow: /private")),
            answers={"/private": page("no")},
            ended={"/private": REFUSED},
            never=("/private",),
        ),
    ]


def redirects(there: WebAddress) -> list[Row]:
    other = there.host(6, 9)
    rules = text("User-agent: *\nDisallow: /private\n")
    private = {"/private": page("no")}
    forbidden: dict[str, Any] = {"ended": {"/private": REFUSED}, "never": ("/private",)}

    def hops(number, last):
        return {f"/r{hop}": redirect(f"/r{hop + 1}") for hop in range(1, number)} | {f"/r{number}": last}

    def blocked(seen):
        assert not seen.canary, "the canary was asked"

    links = ("/private",)
    return [
        Row(
            number=6,
            name="robots behind five redirects",
            robots=redirect("/r1"),
            answers={**hops(5, rules), **private},
            links=links,
            **forbidden,
        ),
        Row(
            number=6,
            name="robots behind a redirect to another host",
            robots=redirect(f"http://{other}/rules.txt", status="302 Found"),
            answers=private,
            **forbidden,
        ),
        Row(
            number=6,
            name="robots in an endless redirect",
            robots=redirect("/robots.txt"),
            answers=private,
            asked={"/robots.txt": (1, 7), "/private": (1, 1)},
        ),
        Row(
            number=6,
            name="robots behind nine redirects",
            robots=redirect("/r1"),
            answers={**hops(9, rules), **private},
            links=links,
            asked={"/private": (1, 1)},
        ),
        Row(
            number=6,
            name="robots redirects to a blocked address",
            robots=redirect(f"http://127.0.0.1:{there.canary}/robots.txt"),
            good=False,
            extra_check=blocked,
        ),
        Row(
            number=6,
            name="robots redirects to nowhere",
            robots=redirect("http://[::"),
            answers=private,
            asked={"/private": (1, 1)},
        ),
        Row(
            number=6,
            name="robots redirects to a page that says no such thing",
            robots=redirect("/good-1", status="302 Found"),
            asked={"/good-1": (1, 2)},
            good=False,
            extra_check=lambda seen: seen.fetched("/", "/good-2", "/good-3"),
        ),
        Row(
            number=6,
            name="the host that others send for robots",
            address=other.partition(":")[0],
            answers={"/rules.txt": rules},
            links=(),
        ),
    ]


def hostile_text() -> list[Row]:
    rule = "User-agent: *\nDisallow: /private\n"
    long_line = "User-agent: *\nDisallow: /private\nDisallow: /" + "x" * 10_000_000
    late = rule + "# filler\n" * 60_000 + "Disallow: /late\n"
    within = rule + "#" * (500 * 1024 - len(rule) - len("\nDisallow: /l")) + "\nDisallow: /lat\n"
    squeezed = gzip.compress(rule.encode(), mtime=0)
    private = {"/private": page("no"), "/late": page("late")}

    def row(number, name, body, **more):
        more = {"ended": {"/private": REFUSED}, "never": ("/private",), **more}
        answer = text(body, *more.pop("headers", ()))
        return Row(number=number, name=f"robots {name}", robots=answer, answers=private, **more)

    return [
        row(7, "whose 500 KiB end within a rule", within, asked={"/late": (1, 1)}),
        row(8, "in gzip", squeezed, headers=("Content-Encoding: gzip",)),
        row(8, "in brotli", brotli.compress(rule.encode()), headers=("Content-Encoding: br",)),
        row(8, "that says gzip and is plain", rule, headers=("Content-Encoding: gzip",)),
        row(
            8,
            "in gzip that swells",
            gzip.compress(rule.encode() + b"#" * (60 << 20)),
            headers=("Content-Encoding: gzip",),
        ),
        row(8, "with lines between the letters of its keys", "USER-AGENT:*\n\n\nDISALLOW:/private\n"),
        row(7, "longer than 500 KiB", late, asked={"/late": (1, 1)}),
        row(8, "with a BOM", b"\xef\xbb\xbf" + rule.encode()),
        row(8, "with CR alone", rule.replace("\n", "\r")),
        row(8, "with CRLF and blanks", rule.replace("\n", " \t\r\n").replace(": ", " :\t ")),
        row(8, "with NULs", b"\0\0#\0\n" + rule.encode() + b"\0\0\n\0Disallow: /else\0\n"),
        row(8, "in latin-1", b"# \xe9\xe8\xff\n" + rule.encode() + b"Disallow: /caf\xe9\n"),
        row(8, "in UTF-16", rule.encode("utf-16"), ended={}, never=()),
        row(8, "with a line of 10 MB", long_line),
        row(8, "of noise", bytes(range(256)) * 400, ended={}, never=()),
        row(8, "with a million groups", "User-agent: a\nDisallow: /\n\n" * 20_000, ended={}, never=()),
        row(
            8,
            "that takes backtracking to match",
            rule + "Disallow: /" + "*a" * 60 + "*b$\n",
            asked={"/late": (1, 1)},
        ),
    ]


def delays() -> list[Row]:
    """Return rows of hosts that ask for time, by the frontier's clock."""

    def apart(seconds, most=None):
        def judge(seen):
            times = sorted(one.begun for one in seen.host.log if one.path != "/robots.txt")
            gaps = [seen.between(one, two) for one, two in itertools.pairwise(times)]
            assert min(gaps) >= seconds * 0.95, gaps
            assert most is None or max(gaps) <= most, gaps

        return judge

    def row(value, seconds, most=None, prefix=""):
        return Row(
            number=10,
            name=f"Crawl-delay {value}{prefix and ' with other groups'}",
            robots=text(f"{prefix}User-agent: *\nCrawl-delay: {value}\nDisallow: /x\n"),
            long=(most or seconds) > LONG_S,
            extra_check=apart(seconds, most),
        )

    return [
        row("3600", 290, 3700),
        row("7", 7, 60),
        row("1.5", 1.5),
        row("0.001", 0.01),
        row("-5", 0.01),
        row("abc", 0.01),
        row("1e400", 0.01, 3700),
        row("0", 0.01),
        row("2,5", 0.01),
        row("0.1", 0.01),
        row("3s", 0.01),
        row("7", 7, 60, "User-agent: otherbot\nCrawl-delay: 1\nDisallow: /\n\n"),
    ]


def groups() -> list[Row]:
    def row(name, rules, allowed, forbidden):
        pages = {path: page(f"page {path}") for path in (*allowed, *forbidden)}
        return Row(
            number=11,
            name=f"robots: {name}",
            robots=text(rules),
            answers=pages,
            ended=dict.fromkeys(forbidden, REFUSED),
            asked={**dict.fromkeys(allowed, (1, 1)), **dict.fromkeys(forbidden, (0, 0))},
        )

    ours = "User-agent: thresher\n"
    return [
        row("our group goes before *", f"User-agent: *\nDisallow: /\n\n{ours}Disallow: /a\n", ["/b"], ["/a"]),
        row(
            "groups for us are merged",
            f"{ours}Disallow: /a\n\nUser-agent: other\nDisallow: /b\n\n{ours}Disallow: /c\n",
            ["/b"],
            ["/a", "/c"],
        ),
        row(
            "our name in any case, with a version behind it",
            "User-agent: THRESHER/9.9\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n",
            ["/b"],
            ["/a"],
        ),
        row(
            "several agents above one group",
            "User-agent: other\nUser-agent: Thresher\nDisallow: /a\n",
            ["/b"],
            ["/a"],
        ),
        row(
            "the longest match wins, Allow on a tie",
            "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /tie\nDisallow: /tie\n",
            ["/a/b", "/a/b/d", "/tie"],
            ["/a", "/a/x", "/a/b/c"],
        ),
        row(
            "stars and dollars",
            "User-agent: *\nDisallow: /*.gif$\nDisallow: /w*d\nAllow: /$\nDisallow: /q?*z\n",
            ["/a.gif.html", "/w", "/q?y=1"],
            ["/a.gif", "/wild", "/q?a=z"],
        ),
        row(
            "octets are compared once they are normal",
            "User-agent: *\nDisallow: /%7Ejoe/\nDisallow: /~ann/\nDisallow: /a%3cd\nDisallow: /\u00fc\n",
            ["/~bob/"],
            ["/~joe/x", "/%7eann/x", "/a%3Cd", "/%C3%BC"],
        ),
        row(
            "an encoded slash is no slash",
            "User-agent: *\nDisallow: /a%2Fb\n",
            ["/a/b"],
            ["/a%2Fb"],
        ),
        row(
            "paths in another case are other paths",
            "User-agent: *\nDisallow: /Upper\n",
            ["/upper"],
            ["/Upper"],
        ),
        row(
            "* is the group of whoever has none",
            "User-agent: a\nUser-agent: *\nUser-agent: b\nDisallow: /a\n",
            ["/b"],
            ["/a"],
        ),
        row(
            "an Allow for all and a Disallow of queries",
            "User-agent: *\nAllow: /\nDisallow: /*?\n",
            ["/a", "/b/"],
            ["/a?x", "/b/?y=1"],
        ),
        row(
            "a group of ours that allows all goes before *",
            f"{ours}Disallow:\n\nUser-agent: *\nDisallow: /\n",
            ["/a"],
            [],
        ),
        row("an empty Disallow allows", "User-agent: *\nDisallow:\n", ["/a"], []),
        row(
            "rules before any group, and unknown lines, mean nothing",
            "Disallow: /a\nNonsense\nUser-agent: *\nFoo: bar\nDisallow: /b\nSitemap: x\nDisallow: /c\n",
            ["/a"],
            ["/b", "/c"],
        ),
        row("a missing colon and a comment", "user-agent * # all\nDisallow: /a # mine\n", [], []),
        row("robots.txt itself may not be forbidden", "User-agent: *\nDisallow: /robots\n", ["/b"], []),
    ]


def rows(there: WebAddress) -> list[Row]:
    return [
        *html(),
        *client_errors(),
        *too_many(),
        *unreachable(),
        *redirects(there),
        *hostile_text(),
        *delays(),
        *groups(),
    ]
