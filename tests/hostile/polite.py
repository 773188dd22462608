"""The polite web: hosts that do nothing wrong, and can tell whether a crawler does.

Each is a row like those of the hostile web. Everything is measured at the host, in real time.
"""

import gzip
import itertools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

import brotli

from tests.crawler.server import links, page, redirect, spelled
from tests.hostile.host import ALLOW_ALL, Exchange
from tests.hostile.rows.answers import in_turn, text
from tests.hostile.rows.framing import then_close
from tests.hostile.rows.row import GOOD, Row, WebAddress
from tests.hostile.rows.sitemaps import index, urlset

MIN_DELAY = 0.25
MIN_IP_DELAY = 0.12
GRACE = 0.97
"""Share of a required gap that is enough: there are two clocks, and the way to the host."""
LATE_S = 0.03
"""Seconds by which a request may arrive late on a busy machine, which shortens the gap to the next one."""
SITE = 60


def gaps(seen) -> list[float]:
    """Return the seconds from the end of each exchange to the start of the next, as long as they may have been."""
    found = sorted(seen.host.log, key=lambda one: one.begun)
    return [two.begun - one.ended + seen.late_s(one) for one, two in itertools.pairwise(found)]


def spaced(seconds):
    def judge(seen):
        found = gaps(seen)
        assert found
        assert min(found) >= seconds * GRACE, sorted(found)[:3]

    return judge


def exactly(row: Row) -> Row:
    """Return a row of which every answer is requested once, and nothing else."""

    def judge(seen):
        wanted = {"/", "/robots.txt", *GOOD, *(path for path, (least, _) in row.asked.items() if least)}
        paths = seen.host.paths
        assert set(paths) == wanted, f"missed {wanted - set(paths)}, too many {set(paths) - wanted}"
        twice = {path: count for path, count in paths.items() if count > row.asked.get(path, (1, 1))[1]}
        assert not twice, twice
        if row.extra_check is not None:
            row.extra_check(seen)

    return Row(**{**{name: getattr(row, name) for name in Row.__slots__}, "extra_check": judge})


def site(number, name, found, **more) -> Row:
    """Return a row of which every path in `found` is fetched once."""
    row = {"links": tuple(found), "answers": {}, **more}
    row["answers"] = {
        path: page(f"<p>This is {spelled(n)}: {name}</p>") for n, path in enumerate(found)
    } | row["answers"]
    return exactly(Row(number=number, name=name, asked=dict.fromkeys(found, (1, 1)), **row))


def canonicalisation(there: WebAddress) -> list[Row]:
    here = there.host(101)
    same = [
        "/one",
        "/one#part",
        "/x/../one",
        "/./one",
        "/%6fne",
        f"HTTP://{here}/one",
        f"//{here}/one",
        "/one?",
        "/one?utm_source=a&utm_medium=b",
        "/one;jsessionid=0123456789ABCDEF",
        "/one?PHPSESSID=0123456789abcdef",
        "\\one",
        " /one ",
        "/o\nne",
        f"http://user:pw@{here}/one",
        "/x/%2e%2e/one",
        "/two?b=2&a=1",
        "/two?b=%32&a=1",
    ]
    apart = [
        "/One", "/one/", "/two?a=1&b=2", "/two?a=1&a=2", "/two?a=2&a=1", "/a%2Fb", "/a/b", "//one", "/three?a",
            "/three?a=",
        "/one%20", "/plus+plus", "/plus%20plus", "/q?x=a%26b", "/~tilde", "/semi;v=1", "/index.html", "/%E2%82%AC",
    ]  # fmt: skip
    spelt = [f"http://{here}{path}" if path.startswith("//one") else path for path in apart]
    tilde = ["/%7etilde", "/%7Etilde", "/%e2%82%ac", "/\u20ac"]
    return [
        site(
            101,
            "pages that are written in many ways",
            ["/one", *apart],
            links=("/one", *spelt, *same, *tilde),
        ),
        site(
            101,
            "a host that is written in many ways",
            ["/one"],
            host="written.test",
            links=(
                "/one",
                f"http://WRITTEN.Test:{there.port}/one",
                f"http://written.test:0{there.port}/one",
                f"http://wr%69tten.test:{there.port}/one",
                f"http://\uff57ritten.test:{there.port}/one",
                f"http:/one\t#{there.port}",
            ),
        ),
    ]


def graph() -> list[Row]:
    def answer(path):
        if not path.startswith("/page/"):
            return None
        number = int(path[6:])
        further = {(number * 7 + step) % SITE for step in range(1, 5)}
        return links(*(f"/page/{one}" for one in further), text=f"Page {spelled(number)} of a graph.")

    pages = {f"/page/{number}": (1, 1) for number in range(SITE)}
    return [
        exactly(
            Row(
                number=102,
                name="a graph of pages",
                links=("/page/0",),
                fallback=answer,
                asked=pages,
                extra_check=spaced(MIN_DELAY),
            )
        )
    ]


def link_kinds() -> list[Row]:
    """Return rows for the ways in which a page may lead to another."""

    def way(name, body, found, more=(), **kinds):
        return site(103, f"a link by {name}", [f"/{name.split()[0]}-page", found, *more],
            links=(f"/{name.split()[0]}-page",),
                    answers={f"/{name.split()[0]}-page": page(body, **kinds)})  # fmt: skip

    word = "größe"
    russian = "\u0433\u043e\u0440\u043e\u0434"
    squeezed = gzip.compress(b'<a href="/in-gzip">x</a>')
    return [
        way("a", '<a href=" /a-found ">x</a>', "/a-found"),
        way("area", '<map><area href="/area-found"></map>', "/area-found"),
        way("iframe", '<iframe src="/iframe-found"></iframe>', "/iframe-found"),
        way("frame", '<frameset><frame src="/frame-found"></frameset>', "/frame-found"),
        way("base", '<base href="/deep/"><a href="base-found">x</a>', "/deep/base-found"),
        way("next", '<link rel="next" href="/next-found">', "/next-found"),
        way("canonical", '<link rel="canonical" href="/canonical-found">', "/canonical-found"),
        way("alternate", '<link rel="alternate" hreflang="de" href="/alternate-found">', "/alternate-found"),
        way("refresh", '<meta http-equiv="Refresh" content="0; URL=\'/refresh-found\'">', "/refresh-found"),
        way("relative", '<a href="relative-found?x=1">x</a>', "/relative-found?x=1"),
        way("entities", '<a href="/ent?a=1&amp;b=2">x</a>', "/ent?a=1&b=2"),
        way("unquoted", "<A HREF=/unquoted-found>x</A>", "/unquoted-found"),
        way("latin-1", f'<a href="/{word}">x</a>'.encode("latin-1"), f"/{quote(word)}",
            kind="text/html; charset=latin-1"),
        way("meta-charset", f'<meta charset=koi8-r><a href="/{russian}">x</a>'.encode("koi8-r"),
            f"/{quote(russian)}", kind="text/html"),
        way("shift_jis", '<a href="/\u6f22">x</a>'.encode("shift_jis"), f"/{quote(chr(0x6F22))}",
            kind="text/html; charset=Shift_JIS"),
        way("utf-16", '<a href="/utf16-found">x</a>'.encode("utf-16"), "/utf16-found", kind="text/html"),
        way("noscript", '<noscript><a href="/noscript-found">x</a></noscript>', "/noscript-found"),
        way("svg", '<svg><a href="/svg-found"><text>x</text></a></svg>', "/svg-found"),
        way("shadow", '<div><template shadowrootmode=open><a href="/shadow-found">x</a></template></div>',
            "/shadow-found"),
        way("select", '<select><option>1<option>2</select><a href="/select-found">x</a>', "/select-found"),
        way("many", "".join(f'<a href="/many-{n}">x</a>' for n in range(30)), "/many-0",
            [f"/many-{n}" for n in range(1, 30)]),
        way("utf-16be", '<a href="/utf16be-found">x</a>'.encode("utf-16-be"), "/utf16be-found",
            kind="text/html; charset=utf-16be"),
        way("untyped", '<!doctype html><a href="/untyped-found">x</a>', "/untyped-found", kind=""),
        site(103, "a link on a page of 404", ["/lost"], answers={"/lost": page('<a href="/not-this">x</a>',
            status="404 Not Found")}),
        site(103, "a link in gzip", ["/gzip-page", "/in-gzip"], links=("/gzip-page",),
            answers={"/gzip-page": page(squeezed, "Content-Encoding: gzip")}),
        site(
            103,
            "a link in brotli and chunks",
            ["/br-page", "/in-br"],
            links=("/br-page",),
            answers={"/br-page": _chunked(brotli.compress(b'<a href="/in-br">x</a>'), "br")},
        ),
        site(
            103,
            "a link in XHTML",
            ["/x-page", "/in-x"],
            links=("/x-page",),
            answers={"/x-page": page(
                '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><a href="/in-x"/></body></html>',
                kind="application/xhtml+xml",
            )},
        ),
        site(103, "no link in what is no HTML", ["/text"], answers={"/text": page('<a href="/not-this">x</a>',
            kind="text/plain")}),
        site(103, "no link in comments and scripts", ["/c"],
            answers={"/c": page('<!-- <a href="/no-1">x</a> --><script>"<a href=/no-2>"</script>'
                '<template><a href="/no-3">')}),
    ]  # fmt: skip


def _chunked(body: bytes, encoding: str) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        f"Content-Encoding: {encoding}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


def delay_rows() -> list[Row]:
    """Return rows for delays and waits."""

    def after(path, seconds):
        def judge(seen):
            first = next(one for one in seen.host.log if one.path == path)
            later = [one.begun for one in seen.host.log if one.begun > first.begun]
            gap = min(later) - first.ended + seen.late_s(first)
            assert gap >= seconds * GRACE, gap
            spaced(MIN_DELAY)(seen)

        return judge

    async def dated(exchange: Exchange):
        first = sum(one.path == exchange.path for one in log) == 0
        log.append(exchange)
        until = format_datetime(datetime.now(UTC) + timedelta(seconds=4), usegmt=True)
        await exchange.send(
            page("later", f"Retry-After: {until}", status="503 Busy") if first else page("here")
        )

    log: list[Exchange] = []
    busy = in_turn(page("later", "Retry-After: 2", status="429 Slow"), page("here"))

    def waits(name, answer, seconds):
        return Row(number=104, name=name, answers={"/busy": answer}, asked={"/busy": (2, 2)},
            ended={"/busy": "fetched:"}, extra_check=after("/busy", seconds))  # fmt: skip

    def delayed(value, seconds, agent="*"):
        rules = f"User-agent: {agent}\nCrawl-delay: {value}\n\nUser-agent: else\nCrawl-delay: 9\n"
        return Row(
            number=104,
            name=f"Crawl-delay {value} for {agent}",
            robots=text(rules),
            extra_check=spaced(seconds),
        )

    return [
        Row(
            number=104,
            name="our own delay",
            answers={f"/d-{n}": page(spelled(n)) for n in range(5)},
            extra_check=spaced(MIN_DELAY),
        ),
        delayed("1", 1),
        delayed("1.5", 1.5, "Thresher"),
        delayed("0.01", MIN_DELAY),
        Row(
            number=104,
            name="our own delay between redirects, errors and pages without a body",
            answers={
                "/r-1": redirect("/r-2"),
                "/r-2": redirect("/r-3", status="302 Found"),
                "/r-3": page("x", status="404 Not Found"),
                "/e-1": b"HTTP/1.1 204 No Content\r\n\r\n",
                "/e-2": page("gone", status="410 Gone"),
            },
            extra_check=spaced(MIN_DELAY),
        ),
        Row(
            number=104,
            name="our own delay where each connection is closed",
            answers={f"/d-{n}": then_close(page(spelled(n), "Connection: close")) for n in range(5)},
            extra_check=spaced(MIN_DELAY),
        ),
        waits("429 and Retry-After in seconds", busy, 2),
        waits(
            "429 and Retry-After of zero",
            in_turn(page("later", "Retry-After: 0", status="429 Slow"), page("here")),
            MIN_DELAY,
        ),
        waits("503 and Retry-After of a date", dated, 2.9),
    ]


def robots() -> list[Row]:
    def forbids(name, rules, allowed, forbidden):
        answers = {path: page(f"never {path}") for path in forbidden}
        return site(105, name, allowed, links=(*forbidden, *allowed), robots=text(rules), answers=answers)

    return [
        forbids("rules for all", "User-agent: *\nDisallow: /no\nAllow: /no/but", ["/yes", "/no/but"], ["/no", "/no/x"]),
        forbids("rules for us", "User-agent: *\nDisallow: /\n\nUser-agent: thresher\nDisallow: /no", ["/yes"],
            ["/no/x"]),
        forbids("rules for others", "User-agent: Googlebot\nDisallow: /\n", ["/yes"], []),
        forbids("rules of query and end", "User-agent: *\nDisallow: /*?print\nDisallow: /*.pdf$", ["/a.pdfx",
            "/b?x=1"], ["/a?print=1", "/x.pdf"]),
        site(105, "no rules", ["/yes"], robots=ALLOW_ALL),
        forbids("rules behind a BOM, with CRLF", b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /no\r\n", ["/yes"], ["/no"]),
        forbids("a folder, and all but one page of it", "User-agent: *\nAllow: /f/one$\nDisallow: /f/\n",
            ["/f/one", "/f"], ["/f/", "/f/one/x", "/f/two"]),
        forbids("rules of a parameter", "User-agent: *\nDisallow: /*sort=\nDisallow: /s?*&p=\n", ["/s?p=1",
            "/sorted"], ["/a?sort=1", "/b?x=1&sort=2", "/s?q=1&p=2"]),
        forbids("rules of our name among others",
            "User-agent: one\nUser-agent: Thresher\nUser-agent: two\nDisallow: /no\n\nUser-agent: *\nDisallow: /yes\n",
            ["/yes"], ["/no"]),
        forbids("rules in %-encoding", "User-agent: *\nDisallow: /caf%C3%A9\nDisallow: /%7Eme\n", ["/cafe"],
            ["/caf%C3%A9/x", "/~me/x"]),
        exactly(Row(number=105, name="rules behind a redirect", robots=redirect("/r.txt"),
            answers={"/r.txt": text("User-agent: *\nDisallow: /no"), "/no": page("x"), "/yes": page("yes")},
            links=("/no", "/yes"), asked={"/r.txt": (1, 1), "/yes": (1, 1), "/no": (0, 0)})),
        site(105, "rules that are long", ["/yes"],
            robots=text("# x\n" * 9_000 + "User-agent: *\nDisallow: /no"), answers={"/no": page("x")},
            links=("/no", "/yes")),
    ]  # fmt: skip


def redirect_rows() -> list[Row]:
    chain = {f"/hop-{n}": redirect(f"/hop-{n + 1}", status="302 Found") for n in range(5)} | {
        "/hop-5": page("arrived")
    }
    loop = {"/l-1": redirect("/l-2"), "/l-2": redirect("/l-1")}
    return [
        site(106, "a chain of redirects", list(chain), links=("/hop-0", "/hop-3"), answers=chain),
        exactly(
            Row(
                number=106,
                name="a seed that redirects",
                seeds=("/start",),
                links=(),
                answers={"/start": redirect("/")},
                asked={"/start": (1, 1)},
            )
        ),
        site(
            106,
            "redirects to one page, 301 to 308",
            ["/s-301", "/s-302", "/s-303", "/s-307", "/s-308", "/to"],
            answers={f"/s-{n}": redirect("/to", status=f"{n} Moved") for n in (301, 302, 303, 307, 308)},
        ),
        site(106, "a loop of redirects", list(loop), answers=loop),
        site(106, "a redirect to what is known", ["/known", "/old"], answers={"/old": redirect("/known")}),
    ]


def sitemap_rows(there: WebAddress) -> list[Row]:
    here, other = (f"http://{there.host(107, n)}" for n in (1, 2))
    gz = gzip.compress(urlset(f"{other}/in-gz").encode())
    return [
        site(
            107,
            "a sitemap and pages that only it names",
            ["/map.xml", "/in-map-1", "/in-map-2"],
            links=(),
            robots=text(f"User-agent: *\nDisallow: /no\nSitemap: {here}/map.xml\n"),
            answers={
                "/map.xml": page(
                    urlset(f"{here}/in-map-1", f"{here}/in-map-2", f"{here}/no"), kind="text/xml"
                )
            },
        ),
        site(
            107,
            "an index of sitemaps, one of them in gzip",
            ["/index.xml", "/m.xml.gz", "/m.txt", "/in-gz", "/in-txt"],
            links=(),
            robots=text(f"Sitemap: {other}/index.xml\nUser-agent: *\nAllow: /"),
            answers={
                "/index.xml": page(index(f"{other}/m.xml.gz", f"{other}/m.txt"), kind="application/xml"),
                "/m.xml.gz": page(gz, kind="application/gzip"),
                "/m.txt": page(f"{other}/in-txt\n", kind="text/plain"),
            },
        ),
    ]


def shared_address_rows(there: WebAddress) -> list[Row]:
    """Return six names of one address: the host that responds for all is the first row's."""

    def apart(seen):
        found = sorted(seen.host.log, key=lambda one: one.begun)
        between = [two.begun - one.begun + seen.late_s(one) for one, two in itertools.pairwise(found)]
        assert len(found) >= 6 * 5, len(found)
        assert min(between) >= MIN_IP_DELAY - LATE_S, sorted(between)[:5]

    names = [f"n{n}.shared.test" for n in range(6)]
    return [
        Row(
            number=108,
            name="names of one address",
            host=names[0],
            names={name: ["@"] for name in names},
            scope="domain",
            seeds=("/",),
            links=tuple(f"http://{name}:{there.port}/" for name in names[1:]),
            good=False,
            extra_check=apart,
        )
    ]


def rows(there: WebAddress) -> list[Row]:
    return [
        *canonicalisation(there),
        *graph(),
        *link_kinds(),
        *delay_rows(),
        *robots(),
        *redirect_rows(),
        *sitemap_rows(there),
        *shared_address_rows(there),
    ]
