"""What a page may request while it is rendered, and which headers pass between its browser and the wire. Pure.

1. Only http and https, and only GET and HEAD, because a crawler reads. Requests by which a script would send data
   (POST, beacons) are refused. A preflight (Fetch standard, section 4.8) goes to the server if it is for a GET or a
   HEAD.
2. Only what text may depend on: scripts, stylesheets, and what scripts fetch (`xhr`), from any host. If screenshots
   are taken, images and fonts too. Media, manifests and icons are refused, and so are event streams, which have no end.
3. Frames are pages of their own: their address is a link that is found in the DOM. So is every address to which a
   script would navigate. The tab never leaves the page that it was opened for.
4. The browser's own description is not sent: our headers say who we are, and which encodings we read. Headers that
   depend on an earlier exchange (conditions, ranges) are not sent either.
5. The browser's cookies go to the page's own site only. The browser enforces CORS by the server's headers: none of
   these response headers is added, changed or removed.
6. The browser receives no response header that frames the body (which is decoded by then), nor one that takes effect
   beyond the page: HSTS, reports, alternative services, service workers, downloads, passwords.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

ALLOWED_KINDS = frozenset({"script", "stylesheet", "xhr"})
"""`xhr` includes `fetch`: Chromium reports both under one type."""
VISIBLE_KINDS = ALLOWED_KINDS | {"image", "font"}
"""What a picture of a page depends on."""
ALLOWED_METHODS = frozenset({"GET", "HEAD"})
PREFLIGHT = "OPTIONS"
_PREFLIGHT_METHOD_HEADER = "access-control-request-method"
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
"""Reasons by Chromium's resource type; any other type has the reason `other`."""
MAX_URL_LENGTH = 8 << 10
"""Bytes; a longer URL is data in disguise."""

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
_WITHHELD_REQUEST_PREFIXES = ("sec-", "proxy-", ":")
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
    """Return the kind of a request: Chromium's resource type in lower case. An event stream comes as `XHR`, and its
    Accept header tells it apart.
    """
    accept = next((value for name, value in headers.items() if name.lower() == "accept"), "")
    return "eventsource" if accept == "text/event-stream" else resource_type.lower()


def preflight_method(method: str, headers: Mapping[str, str]) -> str | None:
    """Return the method that a preflight asks for; None if the request is no preflight. A script cannot set the header
    that names it.
    """
    if method != PREFLIGHT:
        return None
    return next((value for name, value in headers.items() if name.lower() == _PREFLIGHT_METHOD_HEADER), None)


def refusal(
    *, method: str, kind: str, url: str, allowed_kinds: Collection[str] = ALLOWED_KINDS
) -> str | None:
    """Return why a request of a page is refused; None if it is allowed. For a preflight, `method` is the method that it
    asks for.
    """
    if not url.startswith(("http://", "https://")):
        return "scheme"
    if method not in ALLOWED_METHODS:
        return "method"
    if kind not in allowed_kinds:
        return REFUSAL_REASONS.get(kind, "other")
    return "long_url" if len(url) > MAX_URL_LENGTH else None


def request_headers(headers: Mapping[str, str], *, with_cookies: bool) -> list[tuple[str, str]]:
    """Return those of the browser's headers that are sent; `with_cookies` allows cookies."""
    return [
        (name, value)
        for name, value in headers.items()
        if name.lower() not in _WITHHELD_REQUEST_HEADERS
        and not name.lower().startswith(_WITHHELD_REQUEST_PREFIXES)
        and (with_cookies or name.lower() != "cookie")
        and value.isprintable()
    ]


def response_headers(
    headers: Sequence[tuple[str, str]], *, without: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Return those of a server's headers that the browser receives, line by line."""
    left_out = {*_WITHHELD_RESPONSE_HEADERS, *without}
    return [(name, value) for name, value in headers if name.lower() not in left_out]
