"""`CaptureMetadata`: what the crawler knows of an exchange besides its bytes, as the block of the metadata record
beside it.

The block is `application/warc-fields` (WARC/1.1, section 6.6), with Heritrix's names if it has one: `via`,
`hopsFromSeed`, `fetchTimeMs`, and an `outlink` line (URL and kind of hop) for each link that was followed. Beside
`fetchTimeMs` stand its parts (`dnsTimeMs`, ...), and `tlsVerdict` is the verdict on the server's certificate.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, takewhile

from thresher.core import Capture, InputError

LINK, REDIRECT = "L", "R"
"""Kinds of hop, as Heritrix writes them: a link, and the target of a redirect."""
MAX_HOPS = 255
MAX_OUTLINKS = 4 << 20
"""Bytes of outlinks that are written; `outlinksLeftOut` counts those behind."""
LINE = "\r\n"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureMetadata:
    """The context of one exchange. Raise `InputError` if the name of a fact cannot be a field's name."""

    via: str = ""
    """URL of the page that led here; empty if a seed did, or if it is unknown."""
    depth: int = 0
    """Links from a seed to here."""
    redirects: int = 0
    """Redirects since the last of these links."""
    outlinks: tuple[str, ...] = ()
    """URLs found here and followed."""
    hop: str = LINK
    """The kind of hop to all of them: a page has links, a redirect has a target."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further lines, such as a charset. Names consist of letters, digits, `-` and `_`; line breaks in values become
    spaces.
    """

    def __post_init__(self) -> None:
        for name, _ in self.facts:
            if not NAME.fullmatch(name) or name == "reason":  # the name by which a dropped page is recognized
                raise InputError(f"{name!r} cannot name a fact of a page: use letters, digits, - and _")


def encode(metadata: CaptureMetadata, capture: Capture) -> bytes:
    """Return the block."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in _lines(metadata, capture))
    return f"{lines}{_outlinks(metadata)}".encode(errors="backslashreplace")


def decode(block: bytes) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the facts and the outlinks of a block. If a name stands there more than once, the last value counts."""
    facts: dict[str, str] = {}
    outlinks: list[str] = []
    for line in block.decode(errors="replace").split(LINE):
        name, colon, value = line.partition(": ")
        if name == "outlink":
            outlinks.append(value.rpartition(" ")[0])
        elif colon:
            facts[name] = value
    return facts, tuple(outlinks)


def _lines(metadata: CaptureMetadata, capture: Capture) -> Iterator[tuple[str, str]]:
    yield "fetchTimeMs", str(capture.elapsed_ms)
    timing = capture.timing
    for name, milliseconds in (
        ("dnsTimeMs", timing.dns_ms),
        ("connectTimeMs", timing.connect_ms),
        ("tlsTimeMs", timing.tls_ms),
        ("firstByteTimeMs", timing.first_byte_ms),
    ):
        if milliseconds is not None:
            yield name, str(milliseconds)
    if capture.tls is not None:
        yield "tlsVerdict", _one_line(capture.tls.trust)
    if metadata.via:
        yield "via", _one_line(metadata.via)
    hops = LINK * min(metadata.depth, MAX_HOPS) + REDIRECT * min(metadata.redirects, MAX_HOPS)
    if hops:
        yield "hopsFromSeed", hops
    for name, value in metadata.facts:
        yield name, _one_line(value)


def _outlinks(metadata: CaptureMetadata) -> str:
    urls, left = metadata.outlinks, 0
    if sum(map(len, urls)) > MAX_OUTLINKS:
        room = takewhile(lambda size: size <= MAX_OUTLINKS, accumulate(map(len, urls)))
        count = sum(1 for _ in room)
        urls, left = urls[:count], len(urls) - count
    whole = "".join(urls)
    if whole.split() != [whole]:  # there is white space somewhere
        urls = tuple(map(_one_line, urls))
    lines = f"outlink: {f' {metadata.hop}{LINE}outlink: '.join(urls)} {metadata.hop}{LINE}" if urls else ""
    return f"{lines}outlinksLeftOut: {left}{LINE}" if left else lines


def _one_line(text: str) -> str:
    return " ".join(text.split())
