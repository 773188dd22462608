"""Rows 23 to 26 and 29: where a body ends."""

import gzip

from tests.hostile.host import Exchange
from tests.hostile.rows.row import Row, WebAddress

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
BODY = b"<p>as long as it is</p>"
SMUGGLED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\nSMUGGLED"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def then_close(data: bytes):
    async def answer(exchange: Exchange):
        await exchange.send(data)
        exchange.close()

    return answer


def then_reset(data: bytes):
    async def answer(exchange: Exchange):
        await exchange.send(data)
        exchange.reset()

    return answer


def no_smuggled_record(seen):
    """Assert that bytes smuggled behind a body are in no record."""
    for record in seen.records:
        assert b"SMUGGLED" not in record.block, (record.type, record.url)


def row(number, name, answer, ended="fetched:", kept=None, **more):
    return Row(
        number=number,
        name=name,
        answers={"/bad": answer},
        ended={"/bad": ended} if ended else {},
        kept={} if kept == "*" else {"/bad": kept},
        **{"asked": {"/bad": (1, 3)}, **more},
    )


def sized(length: bytes, body: bytes = BODY) -> bytes:
    return HEAD + b"Content-Length: " + length + b"\r\n\r\n" + body


def whole(body):
    """Return a check that the record's payload is exactly these bytes."""

    def judge(seen):
        record = seen.response("/bad")
        assert record.body == body, record.block
        no_smuggled_record(seen)

    return judge


def lengths() -> list[Row]:
    long, size = BODY + SMUGGLED, b"%d" % len(BODY)
    twice = HEAD + b"Content-Length: " + size + b"\r\nContent-Length: " + size + b"\r\n\r\n" + BODY
    differ = HEAD + b"Content-Length: 5\r\nContent-Length: " + size + b"\r\n\r\n" + BODY
    both = HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    flagged = "fetched:truncated_disconnect"
    return [
        row(23, "Content-Length beyond the body", then_close(sized(b"1000")), flagged, "disconnect"),
        row(23, "Content-Length beyond a body that is reset", then_reset(sized(b"1000")), "*:*", "*"),
        row(23, "Content-Length and no body", then_close(sized(b"10", b"")), flagged, "disconnect"),
        row(
            23,
            "Content-Length beyond the body, asked once more",
            then_close(sized(b"1000")),
            None,
            "*",
            asked={"/bad": (2, 3)},
        ),
        row(24, "Content-Length with zeros before it", sized(b"00000" + size)),
        row(24, "Content-Length with blanks around it", sized(b" \t" + size + b" \t ")),
        row(
            23,
            "a page of 404 that breaks off",
            then_close(sized(b"1000").replace(b"200 OK", b"404 None")),
            "gone:*",
            "disconnect",
        ),
        row(24, "data beyond Content-Length", sized(size, long), extra_check=whole(BODY)),
        row(24, "a response behind a body of no bytes", sized(b"0", SMUGGLED), extra_check=whole(b"")),
        row(24, "Content-Length twice the same", twice, extra_check=whole(BODY)),
        row(24, "Content-Length in a list", sized(size + b", " + size), extra_check=whole(BODY)),
        row(
            24,
            "Content-Length twice and different",
            then_close(differ),
            None,
            "*",
            extra_check=no_smuggled_record,
        ),
        row(
            24,
            "Content-Length of no number",
            then_close(sized(b"many")),
            None,
            "*",
            extra_check=no_smuggled_record,
        ),
        row(24, "Content-Length negative", then_close(sized(b"-5", long)), None, "*"),
        row(24, "Content-Length with a sign", then_close(sized(b"+" + size, BODY)), None, "*"),
        row(24, "Content-Length in hexadecimal", then_close(sized(b"0x10")), None, "*"),
        row(24, "Content-Length of forty digits", then_close(sized(b"9" * 40)), "*:*", "*"),
        row(
            24,
            "Content-Length beside chunks",
            both,
            "*:*",
            None,
            extra_check=whole(b"5\r\nhello\r\n0\r\n\r\n"),
        ),
        row(
            24,
            "Content-Length beside chunks, and a response behind",
            both + SMUGGLED,
            "*:*",
            "*",
            extra_check=no_smuggled_record,
        ),
    ]


def chunks() -> list[Row]:
    def bad(name, framed, ended="*:*", kept="*", **more):
        return row(25, name, then_close(CHUNKED + framed), ended, kept, **more)

    good = b"5\r\nhello\r\n"
    flagged = "unspecified"
    return [
        bad("a chunk size that is no number", good + b"zz\r\nworld\r\n0\r\n\r\n", kept=flagged),
        bad("a chunk size beyond any integer", good + b"f" * 40 + b"\r\nworld", kept=flagged),
        bad("a negative chunk size", good + b"-5\r\nworld\r\n0\r\n\r\n", kept=flagged),
        bad("a chunk longer than its size", b"3\r\nhello\r\n0\r\n\r\n", kept=flagged),
        bad("no last chunk", good, kept="disconnect"),
        bad("an end in the middle of a chunk", b"ff\r\nhello", kept="disconnect"),
        bad("an end in a chunk size", good + b"5", kept="disconnect"),
        bad("no chunk at all", b"", kept="disconnect"),
        row(
            25,
            "trailers, extensions and small chunks",
            CHUNKED + b'1;a=b\r\nh\r\n004 ; c="d"\r\nello\r\n0\r\nX-Sum: 5\r\nX-More: 6\r\n\r\n',
            extra_check=lambda seen: seen.payload("/bad", b"hello"),
        ),
        row(25, "chunks that end in bare LF", CHUNKED + b"5\nhello\n0\n\n", "*:*", "*"),
        row(
            25,
            "a response behind the last chunk",
            CHUNKED + good + b"0\r\n\r\n" + SMUGGLED,
            extra_check=no_smuggled_record,
        ),
        row(
            25,
            "chunks with capitals and tabs in the header",
            HEAD + b"transfer-ENCODING:\t CHUNKED \r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            extra_check=lambda seen: seen.payload("/bad", b"hello"),
        ),
    ]


def transfer() -> list[Row]:
    squeezed = gzip.compress(b'<a href="/behind">on</a>')
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(squeezed), squeezed)
    return [
        row(26, "says chunked and is not", then_close(CHUNKED + BODY), "*:*", "*", extra_check=whole(BODY)),
        row(
            26,
            "Transfer-Encoding gzip",
            then_close(HEAD + b"Transfer-Encoding: gzip\r\n\r\n" + squeezed),
            "*:*",
            "*",
            extra_check=whole(squeezed),
        ),
        row(
            26,
            "Transfer-Encoding gzip, chunked",
            HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunk,
            "*:*",
            "*",
            extra_check=whole(chunk),
        ),
        row(
            26,
            "Transfer-Encoding of another name",
            then_close(HEAD + b"Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
            "*:*",
            "*",
        ),
        row(
            26,
            "Transfer-Encoding identity",
            then_close(HEAD + b"Transfer-Encoding: identity\r\n\r\n" + BODY),
            "*:*",
            "*",
            extra_check=whole(BODY),
        ),
        row(
            26,
            "an old server's response",
            then_close(b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
            extra_check=whole(BODY),
        ),
    ]


def bodiless() -> list[Row]:
    empty = b"HTTP/1.1 204 No Content\r\nContent-Length: 8\r\n\r\nSMUGGLED"
    unchanged = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 500\r\n\r\n'
    return [
        row(29, "204 with a body", empty, "*:*", "*", extra_check=no_smuggled_record),
        row(
            29,
            "204 with a response behind",
            b"HTTP/1.1 204 No Content\r\n\r\n" + SMUGGLED,
            "*:*",
            "*",
            extra_check=no_smuggled_record,
        ),
        row(
            29,
            "304 that nobody asked for, with a body",
            unchanged + SMUGGLED,
            "*:*",
            "*",
            extra_check=no_smuggled_record,
        ),
        row(29, "304 with a length and no body", unchanged, "*:*", "*"),
        row(29, "205 with a body", b"HTTP/1.1 205 Reset\r\nContent-Length: 5\r\n\r\nhello", "*:*", "*"),
    ]


def rows(_: WebAddress) -> list[Row]:
    return [*lengths(), *chunks(), *transfer(), *bodiless()]
