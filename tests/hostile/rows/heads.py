"""Rows 27 and 28: heads that no standard allows."""

from tests.crawler.server import page
from tests.hostile.host import Exchange
from tests.hostile.rows.framing import then_close
from tests.hostile.rows.row import ABSENT, Row, WebAddress

LINK = b'<p>words</p><a href="/behind">on</a>'
BEHIND = page("what is behind")
OK = b"HTTP/1.1 200 OK\r\n"


def head(*lines: bytes, first: bytes = OK, body: bytes = LINK, end: bytes = b"\r\n") -> bytes:
    size = b"Content-Type: text/html" + end + b"Content-Length: %d" % len(body) + end
    return first + b"".join(line + end for line in lines) + size + end + body


def read(number, name, answer, ended="fetched:", **more):
    """Return a row whose page is read like any other: its links are found, and its head is kept byte for byte."""
    return Row(
        number=number,
        name=name,
        answers={"/bad": answer, "/behind": BEHIND},
        links=("/bad",),
        ended={"/bad": ended},
        kept={"/bad": None, "/behind": None},
        asked={"/bad": (1, 1), "/behind": (1, 1)},
        **more,
    )


def refused(number, name, answer, ended="failed:protocol", most=1, **more):
    """Return a row whose response is no HTTP, and is requested `most` times at most."""
    return Row(
        number=number,
        name=name,
        answers={"/bad": answer},
        ended={"/bad": ended},
        asked={"/bad": (1, most)},
        **{"kept": {"/bad": ABSENT}, **more},
    )


def headers() -> list[Row]:
    many = [b"X-Number-%d: %d" % (number, number) for number in range(10_000)]
    return [
        read(27, "a header of 60 KB", head(b"X-Long: " + b"y" * 60_000)),
        read(27, "a name of a header of 10 KB", head(b"X-" + b"n" * 10_000 + b": 1")),
        read(27, "the same header five hundred times", head(*[b"X-Same: 1"] * 500)),
        read(28, "two blanks in the status line", head(first=b"HTTP/1.1  200  OK\r\n")),
        read(28, "HTTP/2 by name alone", head(first=b"HTTP/2 200 OK\r\n")),
        read(27, "a header of 100 KB", head(b"X-Long: " + b"y" * 100_000)),
        read(27, "ten thousand headers", head(*many)),
        read(27, "a header without a colon", head(b"this is no header", b"X-Fine: yes")),
        read(27, "a header without a name", head(b": nameless", b"X-Fine: yes")),
        read(27, "a header with spaces in its name", head(b"X Strange Name: yes")),
        read(27, "a header with a space before its colon", head(b"X-Odd : yes")),
        read(27, "a folded header", head(b"X-Folded: one", b"  two", b"\tthree")),
        read(27, "a fold before any header", head(b"  lost", b"X-Fine: yes")),
        read(27, "headers in no ASCII", head("X-Näme: Größe".encode(), b"X-Latin: \xe9\xff")),
        read(27, "a header with NUL", head(b"X-Nul: a\0b", b"X-\0Name: c")),
        read(27, "a header with a bare CR", head(b"X-Cr: a\rb")),
        read(27, "line ends of LF alone", head(b"X-Fine: yes", first=b"HTTP/1.1 200 OK\n", end=b"\n")),
        read(27, "line ends of both kinds", head(b"X-One: 1\nX-Two: 2")),
        read(
            27,
            "header names in strange cases, twice and unsorted",
            head(b"x-B: 1", b"X-a: 2", b"X-B: 3", b"x-b:4"),
        ),
        read(27, "headers with blanks at their ends", head(b"X-Blank:   \t spaced \t  ", b"X-Empty:")),
    ]


def statuses() -> list[Row]:
    async def interim(exchange: Exchange):
        await exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\n\r\n" * 3)
        await exchange.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        await exchange.send(head())

    def closing(data):
        return then_close(data)

    recorded = {"/bad": None}
    return [
        read(28, "a status line without a reason", head(first=b"HTTP/1.1 200\r\n")),
        read(28, "a status line with a blank for a reason", head(first=b"HTTP/1.1 200 \r\n")),
        read(28, "a reason in no ASCII", head(first="HTTP/1.1 200 Schön\r\n".encode())),
        read(28, "HTTP/1.2", head(first=b"HTTP/1.2 200 OK\r\n")),
        read(28, "interim responses before the response", interim),
        read(28, "a status line in small letters", closing(head(first=b"http/1.1 200 ok\r\n"))),
        refused(28, "status 999", page("odd", status="999 Odd"), "*:status_999", kept=recorded),
        refused(28, "status 799", page("odd", status="799 Odd"), "*:status_799", kept=recorded),
        refused(28, "status 000", closing(page("odd", status="000 Odd")), "*:*", kept={}),
        refused(28, "status of four digits", closing(page("odd", status="2000 Odd")), "failed:protocol"),
        refused(28, "status of no digits", closing(page("odd", status="OK fine"))),
        refused(28, "ICY 200", closing(b"ICY 200 OK\r\nicy-name: radio\r\n\r\nmusic"), "*:*", kept={}),
        refused(28, "HTTP/0.9", closing(b"<html>hello</html>"), "*:*", kept={}),
        refused(28, "the greeting of a mail server", closing(b"220 mail.example ESMTP\r\n")),
        refused(28, "the greeting of SSH", closing(b"SSH-2.0-OpenSSH_9.6\r\n")),
        refused(28, "a TLS alert", closing(b"\x15\x03\x01\x00\x02\x02\x46")),
        refused(28, "noise", closing(bytes(range(256)) * 40)),
        refused(
            28, "line ends before the status line", closing(b"\r\n\r\n" + head()), "*:*", most=2, kept={}
        ),
        refused(
            28,
            "101 that nobody asked for",
            closing(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nbytes"),
            "*:*",
            kept={},
        ),
        refused(
            28,
            "nothing but interim responses",
            closing(b"HTTP/1.1 100 Continue\r\n\r\n" * 10),
            "failed:*",
            most=6,
        ),
    ]


def rows(_: WebAddress) -> list[Row]:
    return [*headers(), *statuses()]
