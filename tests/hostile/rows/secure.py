"""Rows 31 and 32: TLS, and what ALPN leads to."""

import asyncio

from tests.crawler.server import page
from tests.hostile import h2
from tests.hostile.host import Host
from tests.hostile.rows.row import Row, WebAddress


def untrusted(name, tls, ended):
    """Return a row whose page is not fetched, and the reason says why; or is fetched, and every record names
    the trust.
    """

    def judge(seen):
        found = seen.ended("/")
        assert found.startswith(("failed:", "fetched:")), found
        if found.startswith("fetched:"):
            verdict = seen.response("/").get("WARC-TLS-Verdict")
            assert verdict
            assert verdict != "trusted", "no word of it in the record"

    return Row(
        number=32, name=name, tls=tls, good=False, ended={"/": ended}, asked={"/": (0, 3)}, extra_check=judge
    )


async def outdated(_: Host, reader, writer):
    """Speak TLS 1.1 at most, and say so before closing."""
    await reader.read(1 << 16)
    writer.write(b"\x15\x03\x02\x00\x02\x02\x46")  # RFC 8446, section 6: alert, fatal, protocol_version
    await writer.drain()
    await reader.read(1 << 16)


async def stalled(_: Host, reader, __):
    await reader.read(1 << 16)
    await asyncio.sleep(600)


async def closed(_: Host, reader, writer):
    await reader.read(1)
    writer.close()


async def plain(host: Host, reader, writer):
    """Answer TLS with HTTP, as a server does whose port somebody mistook."""
    await reader.read(1)
    writer.write(page("speak plainly", status="400 Bad Request"))
    await writer.drain()


def tls() -> list[Row]:
    return [
        Row(number=32, name="TLS that is right", tls="good", answers={"/fine": page("fine")}),
        untrusted("TLS expired", "expired", "*:*tls_expired*"),
        untrusted("TLS self-signed", "self_signed", "*:*tls_self_signed*"),
        untrusted("TLS not yet valid", "early", "*:*tls_expired*"),
        untrusted("TLS of an authority that nobody knows", "unknown", "*:*tls*"),
        untrusted("TLS of somebody else", "wrong_host", "*:*tls_wrong_host*"),
        Row(number=32, name="TLS 1.1", tls="none", talk=outdated, good=False, ended={"/": "failed:*tls*"}),
        Row(number=32, name="TLS 1.1, and no word of it", tls="old", good=False, ended={"/": "failed:*"}),
        Row(
            number=32,
            name="TLS that never shakes hands",
            tls="none",
            talk=stalled,
            good=False,
            ended={"/": "failed:*timeout_tls"},
        ),
        Row(number=32, name="TLS that closes", tls="none", talk=closed, good=False, ended={"/": "failed:*"}),
        Row(number=32, name="TLS that is none", tls="none", talk=plain, good=False, ended={"/": "failed:*"}),
    ]


def spoken(*paths):
    """Return a check that these paths were fetched over h2, and that their records say so."""

    def judge(seen):
        for path in paths:
            record = seen.response(path)
            protocols = [value for key, value in record.head if key.lower() == "warc-protocol"]
            assert "h2" in protocols, (path, protocols)
            assert record.block.startswith((b"HTTP/1.1 200", b"HTTP/2 200", b"HTTP/2.0 200")), record.block[
                :40
            ]

    return judge


def streams() -> list[Row]:
    """Return hosts that speak h2. `h2.h2_server` takes what each path does as a name.

    A path that cannot be fetched over h2 may be fetched over HTTP/1.1, which every host speaks too.
    """

    def row(name, *bad, ended=None, greeting="", **more):
        answers = {path: page(f"answer {path}") for path in bad}
        return Row(
            number=31,
            name=f"h2: {name}",
            tls="h2",
            talk=h2.h2_server(greeting),
            answers=answers,
            ended=ended or {},
            **more,
        )

    return [
        row("as it should be", "/a", "/b", extra_check=spoken("/", "/a", "/b")),
        row("RST_STREAM instead of an answer", "/reset", ended={"/reset": "*:*"}),
        row("RST_STREAM in the body", "/torn", kept={"/torn": "disconnect"}),
        row("REFUSED_STREAM once", "/refused", asked={"/refused": (1, 3)}, ended={"/refused": "fetched:"}),
        row("GOAWAY instead of an answer", "/goaway", ended={"/goaway": "*:*"}),
        row("GOAWAY after each answer", "/a", "/b", "/c", greeting="goaway"),
        row("SETTINGS beyond reason", "/a", greeting="settings"),
        row("a flood of PINGs", "/a", greeting="pings", good=False),
        row("a flood of SETTINGS", "/a", greeting="settings flood", good=False),
        row("an endless header block", "/continuation", ended={"/continuation": "*:*"}),
        row("a header bomb", "/bomb", ended={"/bomb": "*:*"}),
        row("a frame larger than allowed", "/frame", ended={"/frame": "*:*"}),
        row("a pushed page", "/push"),
        row("an endless body", "/endless", kept={"/endless": "length"}),
        row("a stalled stream", "/stall", ended={"/stall": "failed:timeout*"}),
        row("two of every header", "/twice", kept={"/twice": None}),
        row("no status", "/no-status", ended={"/no-status": "*:*"}),
        row("ALPN says h2, and HTTP/1.1 is spoken", greeting="http/1.1", good=False),
    ]


def rows(_: WebAddress) -> list[Row]:
    sni = Row(
        number=32, name="TLS that wants a name", tls="sni", host="sni.test", answers={"/fine": page("fine")}
    )
    return [*tls(), sni, *streams()]
