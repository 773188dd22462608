"""Row 50: sitemaps that robots.txt names."""

import gzip

from tests.crawler.server import page, redirect
from tests.hostile.host import Exchange
from tests.hostile.rows.answers import text
from tests.hostile.rows.row import Row, WebAddress

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls, more=""):
    inside = "".join(f"<url><loc>{url}</loc>{more}</url>" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {XMLNS}>{inside}</urlset>'


def index(*urls):
    inside = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<?xml version="1.0"?><sitemapindex {XMLNS}>{inside}</sitemapindex>'


def rows(there: WebAddress) -> list[Row]:
    made: list[Row] = []

    def row(name, make, asked=None, **more):
        """`make` takes `http://host:port` and returns the answers; `/map` is the sitemap that robots.txt names."""
        here = f"http://{there.host(50, len(made) + 1)}"
        pages = {"/from-map": page("from the sitemap"), "/from-map-2": page("from the sitemap too")}
        made.append(
            Row(
                number=50,
                name=f"sitemap: {name}",
                robots=text(f"User-agent: *\nAllow: /\nSitemap: {here}/map\n"),
                answers={**pages, **make(here)},
                links=(),
                asked=asked if asked is not None else {"/map": (1, 3), "/from-map": (1, 1)},
                **more,
            )
        )

    def xml(body, *headers):
        return page(body, *headers, kind="application/xml")

    async def endless(exchange: Exchange):
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n")
        await exchange.send(
            urlset(f"http://{exchange.header('host')}/from-map").removesuffix("</urlset>").encode()
        )
        for _ in range(1_000):
            await exchange.send(
                f"<url><loc>http://{exchange.header('host')}/good-1</loc></url>".encode() * 1_000
            )

    row(
        "as it should be",
        lambda here: {"/map": xml(urlset(f"{here}/from-map", more="<lastmod>2026-01-01</lastmod>"))},
    )
    row(
        "in gzip",
        lambda here: {
            "/map": page(gzip.compress(urlset(f"{here}/from-map").encode()), kind="application/x-gzip")
        },
    )
    row(
        "in gzip, encoded again",
        lambda here: {
            "/map": page(
                gzip.compress(urlset(f"{here}/from-map").encode()),
                "Content-Encoding: gzip",
                kind="application/xml",
            )
        },
    )
    row("an index", lambda here: {"/map": xml(index(f"{here}/m2")), "/m2": xml(urlset(f"{here}/from-map"))})
    row(
        "an index of itself",
        lambda here: {
            "/map": xml(index(f"{here}/map", f"{here}/m2")),
            "/m2": xml(index(f"{here}/map", f"{here}/m3")),
            "/m3": xml(urlset(f"{here}/from-map")),
        },
        {"/map": (1, 3), "/m2": (1, 1)},
    )
    row(
        "a chain of indexes without an end",
        lambda here: (
            {f"/m{n}": xml(index(f"{here}/m{n + 1}")) for n in range(1, 60)}
            | {"/map": xml(index(f"{here}/m1"))}
        ),
        {"/m59": (0, 0)},
    )
    row("text", lambda here: {"/map": page(f"{here}/from-map\n{here}/from-map-2\n", kind="text/plain")})
    row(
        "RSS",
        lambda here: {
            "/map": xml(
                f'<rss version="2.0"><channel><item><link>{here}/from-map</link></item></channel></rss>'
            )
        },
    )
    row(
        "Atom",
        lambda here: {
            "/map": xml(
                f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="{here}/from-map"/></entry></feed>'
            )
        },
    )
    row(
        "bad XML behind a good beginning",
        lambda here: {"/map": xml(urlset(f"{here}/from-map")[:-9] + "<url><loc>&&& <")},
    )
    row("behind a BOM and blanks", lambda here: {"/map": xml("\ufeff\n " + urlset(f"{here}/from-map"))})
    row(
        "behind a redirect",
        lambda here: {"/map": redirect("/m2"), "/m2": xml(urlset(f"{here}/from-map"))},
        {"/from-map": (1, 1)},
    )
    row(
        "URLs in CDATA and entities",
        lambda here: {"/map": xml(urlset(f"<![CDATA[{here}/from-map]]>", f"{here}/from-map-2?a=1&amp;b=2"))},
    )
    row(
        "lastmod in the future and of nonsense",
        lambda here: {
            "/map": xml(
                urlset(f"{here}/from-map", more="<lastmod>2999-99-99</lastmod><priority>9</priority>")
            )
        },
    )
    row(
        "entities that swell",
        lambda here: {
            "/map": xml(
                '<?xml version="1.0"?><!DOCTYPE u [<!ENTITY a "aaaaaaaaaa">'
                + "".join(
                    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
                )
                + f"]><urlset {XMLNS}><url><loc>{here}/&i;</loc></url></urlset>"
            )
        },
        {},
    )
    row(
        "an entity of a file",
        lambda here: {
            "/map": xml(
                '<?xml version="1.0"?><!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
                f"<urlset {XMLNS}><url><loc>{here}/&x;</loc></url></urlset>"
            )
        },
        {},
        extra_check=lambda seen: (
            [path for path in seen.host.paths if "root" in path] == [] or seen.fail("a file was read")
        ),
    )
    row(
        "of a gzip bomb",
        lambda _: {"/map": page(gzip.compress(b" " * (60 << 20), 9), kind="application/x-gzip")},
        {},
    )
    row("without an end", lambda _: {"/map": endless}, {"/map": (1, 2)})
    row("that is an HTML page", lambda _: {"/map": page("<html>no sitemap here</html>")}, {})
    row("that is not there", lambda _: {}, {})
    row(
        "with URLs of elsewhere",
        lambda here: {
            "/map": xml(
                urlset(
                    f"http://127.0.0.1:{there.canary}/x",
                    "file:///etc/passwd",
                    "javascript:1",
                    f"{here}/from-map",
                )
            )
        },
        extra_check=lambda seen: seen.canary == 0 or seen.fail("the canary was asked"),
    )
    row("with forbidden URLs", lambda here: {"/robots": page("x"), "/map": xml(urlset(f"{here}/from-map"))})
    return made
