"""Captures to archive: one maker with plain defaults, one Hypothesis strategy that spares nothing."""

import dataclasses
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from thresher.core import Capture, Timing, TlsSession, Url

RECORD_ID = UUID("11111111-2222-4333-8444-555555555555")
STARTED_MS = 1_767_323_045_678  # 2026-01-02T03:04:05.678Z
REQUEST = (
    b"GET /page HTTP/1.1\r\nHost: example.org\r\nUser-Agent: thresher/0.1 (+mailto:crawl@example.org)\r\n\r\n"
)
BODY = b"<html><title>Hello</title><p>Text of the page.</html>"


def url(text: str = "https://example.org/page") -> Url:
    return Url(text=text, wire=text, host="example.org", origin="https://example.org")


def capture(
    body: bytes = BODY,
    *,
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),),
    payload: bytes | None = None,
    wire: str = "https://example.org/page",
    status: int = 200,
    started_ms: int = STARTED_MS,
    peer: str = "192.0.2.7",
    truncated: object = None,
    request: bytes = REQUEST,
    protocol: str = "http/1.1",
    tls: TlsSession | None = None,
    timing: Timing = Timing(),  # noqa: B008 - a frozen value
) -> Capture:
    head = f"HTTP/1.1 {status} OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    response = head.encode("latin-1") + body
    return Capture(
        url=url(wire),
        request=request,
        response=response,
        head_length=len(head),
        status=status,
        headers=headers,
        payload=body if payload is None else payload,
        started_ms=started_ms,
        elapsed_ms=120,
        peer=peer,
        truncated=truncated,  # type: ignore[arg-type]
        protocol=protocol,  # type: ignore[arg-type]
        tls=tls,
        timing=timing,
    )


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


CHUNKED = capture(
    chunks(b"<html>one", b" and two</html>"),
    headers=(("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")),
    payload=b"<html>one and two</html>",
)

SPOKEN: dict[str, Any] = {
    "protocol": "h2",
    "tls": TlsSession(version="1.3", cipher="TLS_AES_128_GCM_SHA256", trust="trusted"),
    "timing": Timing(dns_ms=3, connect_ms=11, tls_ms=25, first_byte_ms=80),
}
"""What a capture over h2 says besides."""
times = st.none() | st.integers(0, 100_000)


def malformed_capture(response: bytes, head_length: int, payload: bytes, **more: Any) -> Capture:
    """A capture whose response nobody can make sense of."""
    return dataclasses.replace(
        capture(**more),
        response=response,
        head_length=min(head_length, len(response)),
        payload=payload,
        headers=(),
    )


captures = st.builds(
    capture,
    st.binary(max_size=3000),
    headers=st.lists(
        st.tuples(
            st.text("abcdefgXYZ-", min_size=1, max_size=12).map(lambda name: f"X-{name}"),
            st.text(
                st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=30
            ),
        ),
        max_size=5,
    ).map(tuple),
    wire=st.text(max_size=60).map(lambda path: f"http://example.org/{path}"),
    status=st.integers(100, 599),
    started_ms=st.integers(0, 4_102_444_800_000),
    peer=st.one_of(st.just(""), st.ip_addresses().map(str)),
    truncated=st.sampled_from([None, "length", "time", "disconnect", "unspecified"]),
    request=st.binary(max_size=500),
    protocol=st.sampled_from(["http/0.9", "http/1.0", "http/1.1", "h2"]),
    tls=st.none() | st.just(SPOKEN["tls"]),
    timing=st.builds(Timing, dns_ms=times, connect_ms=times, tls_ms=times, first_byte_ms=times),
)
LINES = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.0 404", b"ICY 200", b"HTTP/1.1 103 Early", b"Content-Length: 3", b"a:b", b" folded", b"\0",
     b"Content-Length : 3", b"Transfer-Encoding: chunked", b"3", b"abc", b"0", b"", b"", b"WARC/1.1", b"\xff\xfe: \xe9"]
)  # fmt: skip
ENDS = st.sampled_from([b"\r\n", b"\n", b"\r", b"", b"\n\n", b"\r\n\r\n"])
responses = st.lists(st.tuples(LINES, ENDS), max_size=12).map(
    lambda lines: b"".join(line + end for line, end in lines)
)
wild_captures = st.builds(
    malformed_capture,
    responses | st.binary(max_size=300),
    st.integers(0, 300),
    st.binary(max_size=100),
    truncated=st.sampled_from([None, "length", "disconnect"]),
    request=st.binary(max_size=100),
)
"""Of servers that speak no HTTP, or a dialect: a head may end anywhere."""
