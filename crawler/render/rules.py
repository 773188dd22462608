"""What a page may ask for while it is rendered, and what passes between its browser and the wire. Pure.

1. Only http and https, and only GET and HEAD: a crawler reads. What a script would send (POST, beacons) is refused.
2. Only what text may depend on: scripts, stylesheets, and what scripts fetch (`xhr`, `fetch`), from any host.
   Pictures, media, fonts, manifests, icons are refused, and so are streams of events: they have no end.
3. Frames are pages of their own: their address is a link that is found in the DOM. So is every place to which a script
   would go. The tab never leaves the page that it was opened for.
4. What the browser says of itself stays behind: the wire says who we are, and what encodings it reads. So does what
   would bind the next exchange (conditions, ranges).
5. Of a response the browser gets neither framing (it is decoded by then) nor what would reach beyond the page:
   HSTS, reports, alternative services, service workers, downloads, passwords.
"""

from collections.abc import Iterable, Mapping, Sequence

WANTED = frozenset({"script", "stylesheet", "xhr", "fetch"})
METHODS = frozenset({"GET", "HEAD"})
KINDS: Mapping[str, str] = {
    "document": "frame",
    "eventsource": "event_stream",
    "font": "font",
    "image": "image",
    "media": "media",
    "ping": "beacon",
    "cspviolationreport": "beacon",
    "websocket": "websocket",
}
"""Reasons by what the browser says a request is for; any other is `other`."""
LONGEST_URL = 8 << 10
"""Bytes; an URL beyond that is data in disguise."""

_NOT_SENT = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "dnt",
        "host",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "keep-alive",
        "range",
        "te",
        "transfer-encoding",
        "upgrade",
        "upgrade-insecure-requests",
        "user-agent",
    }
)
_NOT_SENT_BEGINNINGS = ("sec-", "proxy-", ":")
_NOT_GIVEN = frozenset(
    {
        "accept-ch",
        "alt-svc",
        "clear-site-data",
        "connection",
        "content-disposition",
        "content-encoding",
        "content-length",
        "expect-ct",
        "keep-alive",
        "nel",
        "proxy-authenticate",
        "public-key-pins",
        "refresh",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
        "strict-transport-security",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "www-authenticate",
    }
)


def refusal(*, method: str, kind: str, url: str) -> str | None:
    """Why a request of a page is refused; None where it is let through. `kind` is Playwright's resource type."""
    if not url.startswith(("http://", "https://")):
        return "scheme"
    if method not in METHODS:
        return "method"
    if kind not in WANTED:
        return KINDS.get(kind, "other")
    return "long_url" if len(url) > LONGEST_URL else None


def sent(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Of what the browser would send, what goes with the request."""
    return [
        (name, value)
        for name, value in headers.items()
        if name.lower() not in _NOT_SENT
        and not name.lower().startswith(_NOT_SENT_BEGINNINGS)
        and value.isprintable()
    ]


def given(headers: Sequence[tuple[str, str]], *, without: Iterable[str] = ()) -> dict[str, str]:
    """Of what a server answered, what the browser is told; lines of one name are joined as it reads them."""
    left_out = {*_NOT_GIVEN, *without}
    told: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key in left_out:
            continue
        between = "\n" if key == "set-cookie" else ", "
        told[key] = f"{told[key]}{between}{value}" if key in told else value
    return told
