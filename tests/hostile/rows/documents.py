"""Rows 39 to 42: charsets, types, and documents that are too much."""

import random
from urllib.parse import quote

from tests.crawler.server import page
from tests.hostile.rows.row import Row, WebAddress

WORD = "größe"
SOFT_404 = """<!doctype html><html><head><title>Page not found</title></head><body><h1>404 - Page not found</h1>
<p>Sorry, the page you are looking for does not exist.</p></body></html>"""


def charset(name, body, kind, *, query, text=WORD):
    """The link's path is UTF-8 whatever the page's charset is; its query is in the page's own charset, as in
    browsers.
    """
    path = f"/{quote(text)}"
    wanted = f"{path}?q={query}"
    return Row(
        number=39,
        name=f"charset: {name}",
        answers={"/bad": page(body, kind=kind)},
        fallback=lambda asked: page("found by its name") if asked.startswith("/%") else None,
        links=("/bad",),
        kept={"/bad": None},
        extra_check=lambda seen: seen.asked_like(wanted, path),
    )


def charsets() -> list[Row]:
    link = '<p>{0}</p><a href="/{0}?q={0}">x</a>'
    utf8, latin = quote(WORD), quote(WORD.encode("latin-1"))
    named = '<meta charset="{}">'
    russian = "\u0433\u043e\u0440\u043e\u0434"
    chinese = "\u6f22\u5b57"
    return [
        charset(
            "of the header", link.format(WORD).encode("latin-1"), "text/html; charset=ISO-8859-1", query=latin
        ),
        charset(
            "of meta",
            (named.format("latin1") + link.format(WORD)).encode("latin-1"),
            "text/html",
            query=latin,
        ),
        charset(
            "the header goes before meta",
            (named.format("windows-1251") + link.format(WORD)).encode(),
            "text/html; charset=utf-8",
            query=utf8,
        ),
        charset(
            "a BOM goes before the header",
            b"\xef\xbb\xbf" + link.format(WORD).encode(),
            "text/html; charset=latin-1",
            query=utf8,
        ),
        charset("UTF-16 with a BOM", link.format(WORD).encode("utf-16"), "text/html", query=utf8),
        charset(
            "UTF-16 by the header",
            link.format(WORD).encode("utf-16-le"),
            "text/html; charset=utf-16",
            query=utf8,
        ),
        charset(
            "windows-1251",
            link.format(russian).encode("windows-1251"),
            "text/html; charset=windows-1251",
            query=quote(russian.encode("windows-1251")),
            text=russian,
        ),
        charset(
            "GB18030",
            link.format(chinese).encode("gb18030"),
            "text/html; charset=gb18030",
            query=quote(chinese.encode("gb18030")),
            text=chinese,
        ),
        charset(
            "one that nobody knows", link.format(WORD).encode(), "text/html; charset=klingon", query=utf8
        ),
        Row(
            number=39,
            name="charset: none, and bytes of no charset",
            answers={
                "/bad": page(bytes(range(128, 256)) * 50 + b'<a href="/behind">x</a>', kind="text/html"),
                "/behind": page("b"),
            },
            links=("/bad",),
            asked={"/behind": (1, 1)},
        ),
    ]


def types() -> list[Row]:
    body = '<!doctype html><html><body><p>words</p><a href="/behind">x</a></body></html>'

    def row(name, answer, follows, ended="fetched:*"):
        return Row(
            number=40,
            name=name,
            answers={"/bad": answer, "/behind": page("behind")},
            links=("/bad",),
            ended={"/bad": ended},
            kept={"/bad": None},
            asked={"/behind": (1, 1)} if follows else {},
        )

    nameless = page(body).replace(b"Content-Type: text/html; charset=utf-8\r\n", b"")
    return [
        row("HTML without a type", nameless, follows=True),
        row("HTML with the type of XHTML", page(body, kind="application/xhtml+xml"), follows=True),
        row("HTML with a type in capitals", page(body, kind="TEXT/HTML;CHARSET=UTF-8"), follows=True),
        row("HTML with two types", page(body, "Content-Type: text/html"), follows=True),
        row("HTML with a type that is none", page(body, kind="html"), follows=False),
        row("HTML as octet-stream", page(body, kind="application/octet-stream"), follows=False),
        row("PDF as HTML", page(b"%PDF-1.7\n" + bytes(random.Random(1).randbytes(50_000))), follows=False),
        row("PNG as HTML", page(b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(50_000)), follows=False),
        row(
            "NULs in HTML",
            page(b"\0\0<p>w\0rds</p>\0<a href='/be\0hind'>x</a><a href='/behind'>x</a>"),
            follows=True,
        ),
    ]


def large() -> list[Row]:
    def row(name, body):
        return Row(
            number=41,
            name=name,
            answers={"/bad": page(body)},
            ended={"/bad": "fetched:*"},
            asked={"/bad": (1, 1)},
        )

    return [
        row("a line of two million letters", "<p>" + "a b " * 400_000),
        row("nested three hundred thousand deep", "<div>" * 300_000),
        row("nested in tables and forms", "<table><tr><td><form><b><i>" * 50_000),
        row("unclosed formatting", "<a href=x><b><font><i><u>" * 60_000),
        row(
            # libxml2 takes time quadratic in their number: nine seconds, in the processes of spiders too.
            "one tag with thirty thousand attributes",
            "<p " + "".join(f"a{n}=1 " for n in range(30_000)) + ">",
        ),
        row("an attribute of a million letters", f'<a href="/{"x" * 1_000_000}">x</a>'),
        row("comments without an end", "<!--" * 400_000),
        row("entities without an end", "&amp" * 400_000 + "&" * 400_000),
        row("scripts without an end", "<script>" * 200_000),
        row("sixty thousand links", "".join(f'<a href="/l/{n:x}">x</a>' for n in range(60_000))),
        row("the same link a hundred thousand times", '<a href="/good-1">x</a>' * 100_000),
    ]


def thin() -> list[Row]:
    async def anew(exchange):
        number = random.Random(exchange.path).getrandbits(128)
        await exchange.send(page(f"<p>The same article.</p><input type=hidden name=csrf value={number:x}>"))

    return [
        Row(
            number=42,
            name="200 and nothing",
            answers={"/bad": page("")},
            ended={"/bad": "fetched:*"},
            kept={"/bad": None},
        ),
        Row(
            number=42,
            name="200 and nothing at all",
            answers={"/bad": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
            ended={"/bad": "fetched:*"},
            kept={"/bad": None},
        ),
        Row(
            number=42,
            name="not found with status 200",
            answers={"/bad": page(SOFT_404)},
            ended={"/bad": "*:*soft*"},
            kept={"/bad": None},
        ),
        Row(
            number=42,
            name="a token in every body",
            answers={f"/t-{number}": anew for number in range(5)},
            kept={f"/t-{number}": None for number in range(5)},
        ),
    ]


def rows(_: WebAddress) -> list[Row]:
    return [*charsets(), *types(), *large(), *thin()]
