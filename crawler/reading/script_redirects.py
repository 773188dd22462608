"""`script_redirects`: where the scripts in a page lead its reader, as far as they say it literally. Pure.

1. `location = "/x"`, with `href`, and with `window`, `document`, `self`, `top` or `parent` before it, and the calls
   `location.replace("/x")` and `location.assign("/x")`, in a script of the page itself. A URL that is put together is
   none: only a browser would know it.
2. At most `MAX_REDIRECTS` of a page, among the first `MAX_PLACES` places that look like one. Whether a condition of the
   script lets the redirect happen is not judged: it is a link as others are.
"""

import re
from itertools import islice

MAX_REDIRECTS = 8
MAX_PLACES = 64
MAX_ATTRIBUTES = 1_024
"""Bytes of the attributes of a script that are read."""
MAX_BEFORE = 32
"""Bytes in front of `location` that decide whose location it is."""
DATA_TYPE = re.compile(
    rb"\btype\s*+=\s*+(?![\"']?(?:module\b|(?:text|application)/(?:x-)?(?:java|ecma)script\b|[\"']))",
    re.IGNORECASE,
)
"""In the attributes of a `script` element that holds data or a template."""
_URL = rb"([\"'])([^\"'\s<>]{1,2048})"
_REDIRECT = re.compile(
    rb"location(?:(?:\.href)?\s{0,4}=\s{0,4}" + _URL + rb"\1\s{0,4}(?=[;,)}\r\n<]|\Z)"
    rb"|\.(?:replace|assign)\(\s{0,4}" + _URL + rb"\3\s{0,4}\))"
)
_BEFORE = re.compile(
    rb"(?:\A|[^\w$.])(?<!var )(?<!let )(?<!const )"
    rb"(?:(?:window|document|self|top|parent|globalThis)\.){0,2}\Z"
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([/'\"]))")


def script_redirects(html: bytes) -> tuple[str, ...]:
    """Return the targets as they are written, each once. `html` is UTF-8."""
    if b"location" not in html:
        return ()
    found: dict[str, None] = {}
    lower = b""
    for redirect in islice(_REDIRECT.finditer(html), MAX_PLACES):
        at = redirect.start()
        lower = lower or html.lower()
        if _BEFORE.search(html[max(0, at - MAX_BEFORE) : at]) and _is_in_script(lower, at):
            found[_target(redirect)] = None
    found.pop("", None)
    return tuple(islice(found, MAX_REDIRECTS))


def _is_in_script(html: bytes, at: int) -> bool:
    begin = html.rfind(b"<script", 0, at)
    if begin < 0 or html.rfind(b"</script", begin, at) >= 0:
        return False
    attributes, is_closed, _ = html[begin : min(at, begin + MAX_ATTRIBUTES)].partition(b">")
    return bool(is_closed) and DATA_TYPE.search(attributes) is None


def _target(redirect: re.Match[bytes]) -> str:
    url = _ESCAPE.sub(_character, (redirect[2] or redirect[4]).decode(errors="replace"))
    return "" if url.startswith("#") or "\\" in url else url


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1] or escape[2], 16)) if escape[1] or escape[2] else escape[3]
