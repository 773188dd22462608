"""What a page may ask for while it is rendered, and what passes between its browser and the wire. Pure.

1. Only http and https, and only GET and HEAD: a crawler reads. What a script would send (POST, beacons) is refused. A preflight (Fetch
   standard, section 4.8) is asked of the server where it is for one of these.
2. Only what text may depend on: scripts, stylesheets, and what scripts fetch (`xhr`), from any host.
   Pictures, media, fonts, manifests, icons are refused, and so are streams of events: they have no end.
3. Frames are pages of their own: their address is a link that is found in the DOM. So is every place to which a script
   would go. The tab never leaves the page that it was opened for.
4. What the browser says of itself stays behind: the wire says who we are, and what encodings it reads. So does what
   would bind the next exchange (conditions, ranges).
5. Cookies that the browser has go to the page's own site alone. CORS is the browser's to enforce, by what the server said: no header of a
   response that speaks of it is added, changed or left out.
6. Of a response the browser gets neither framing (it is decoded by then) nor what would reach beyond the page:
   HSTS, reports, alternative services, service workers, downloads, passwords.
"""

from collections.abc import Iterable, Mapping, Sequence

ALLOWED_KINDS = frozenset({"script", "stylesheet", "xhr"})
"""Chromium holds up what `fetch` asks for as `xhr`."""
ALLOWED_METHODS = frozenset({"GET", "HEAD"})
PREFLIGHT = "OPTIONS"
_ASKS_FOR = "access-control-request-method"
REFUSAL_REASONS: Mapping[str, str] = {
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

_WITHHELD_REQUEST_HEADERS = frozenset(
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
_WITHHELD_RESPONSE_HEADERS = frozenset(
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


def request_kind(resource_type: str, headers: Mapping[str, str]) -> str:
    """What the browser wants a request for: Chromium's resource type in lower case. A stream of events comes as `XHR`, and is known by what it
    accepts.
    """
    accept = next((value for name, value in headers.items() if name.lower() == "accept"), "")
    return "eventsource" if accept == "text/event-stream" else resource_type.lower()


def preflight_method(method: str, headers: Mapping[str, str]) -> str | None:
    """The method that a preflight asks for; None where a request is none. Only a browser can send that header."""
    if method != PREFLIGHT:
        return None
    return next((value for name, value in headers.items() if name.lower() == _ASKS_FOR), None)


def refusal(*, method: str, kind: str, url: str) -> str | None:
    """Why a request of a page is refused; None where it is let through. The method of a
    preflight is the one that it asks for.
    """
    if not url.startswith(("http://", "https://")):
        return "scheme"
    if method not in ALLOWED_METHODS:
        return "method"
    if kind not in ALLOWED_KINDS:
        return REFUSAL_REASONS.get(kind, "other")
    return "long_url" if len(url) > LONGEST_URL else None


def request_headers(headers: Mapping[str, str], *, with_cookies: bool) -> list[tuple[str, str]]:
    """Of what the browser would send, what goes with the request; `with_cookies` where they may."""
    return [
        (name, value)
        for name, value in headers.items()
        if name.lower() not in _WITHHELD_REQUEST_HEADERS
        and not name.lower().startswith(_NOT_SENT_BEGINNINGS)
        and (with_cookies or name.lower() != "cookie")
        and value.isprintable()
    ]


def response_headers(
    headers: Sequence[tuple[str, str]], *, without: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Of what a server answered, what the browser is told, line by line."""
    left_out = {*_WITHHELD_RESPONSE_HEADERS, *without}
    return [(name, value) for name, value in headers if name.lower() not in left_out]
