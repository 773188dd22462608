"""`trap_reason`: which URLs are refused for their form, before any request. Pure.

Each rule names a form that no honest page needs and that an endless space of URLs cannot do without for long. Less
certain signs are left to `frontier.urls.novelty`, which looks at the pages.

1. `repeated_segments`: two folders that stand three times each in the path, or one that stands eight times and is no
   number. Relative links that lack a slash make such paths (`/a/b/a/b/a/b/`). Zeno refuses three repeats of one,
   consecutive or not (`pathloop`), Heritrix three consecutive ones (`PathologicalPathDecideRule`); but
   `/scipy/scipy/blob/v1/scipy/stats.py` and `/post/all/all/all/all/1.html` are honest.
2. `long_path`: more than 20 segments (Heritrix, `TooManyPathSegmentsDecideRule`).
3. `repeated_parameters`: the parameters, with their values, repeat as often as that. Scripts that append to their own
   URL make such queries.
4. `nested_url`: three more URLs inside the path, or something percent-encoded four times over: a login or a share
   button that links to itself.
5. `calendar`: a date whose year has at most three digits or is beyond 2200, if the URL says that it is a date.

The time is linear in the length of the URL.
"""

import re
from typing import Literal

from thresher.core import Url

TrapReason = Literal["repeated_segments", "long_path", "repeated_parameters", "nested_url", "calendar"]

REPEATS = 3
REPEATS_OF_ONE = 8
SEGMENTS = 20
NESTED_URLS = 3

_SCHEME = re.compile(r"https?:/|https?%3a", re.IGNORECASE)
_ENCODED_FOUR_TIMES = "%252525"
_DATE_SIGNS = ("year=", "month=", "date=", "/calend", "/kalender", "/agenda", "/event")
_YEAR = r"(?:0[0-9]{3}|2[2-9][0-9]{2}|[3-9][0-9]{3}|[1-9][0-9]{4})"
_ABSURD_DATE = re.compile(
    rf"year={_YEAR}(?:&|$)"
    rf"|(?:month|date)={_YEAR}-(?:0?[1-9]|1[0-2])(?![0-9])"
    rf"|/(?:calendar|kalender|agenda|events?)/(?:[a-z]{{1,9}}/)?{_YEAR}[/-](?:0?[1-9]|1[0-2])(?:[/-]|$)"
)


def trap_reason(url: Url) -> TrapReason | None:
    """Return why the URL is refused; None for a URL that may be requested."""
    path, _, query = url.text[len(url.origin) + 1 :].partition("?")
    segments = path.split("/")
    if len(segments) > SEGMENTS:
        return "long_path"
    if len(segments) > REPEATS and _repeat(segments[:-1]):
        return "repeated_segments"
    if "&" in query and _repeat(query.split("&")):
        return "repeated_parameters"
    if _ENCODED_FOUR_TIMES in url.text or (":" in path and len(_SCHEME.findall(path)) >= NESTED_URLS):
        return "nested_url"
    if any(sign in url.text for sign in _DATE_SIGNS) and _ABSURD_DATE.search(url.text, len(url.origin)):
        return "calendar"
    return None


def _repeat(parts: list[str]) -> bool:
    if len(parts) - len(set(parts)) < 2 * (REPEATS - 1):
        return False
    often = [parts.count(part) for part in set(parts) if part and not part.isdigit()]
    return max(often, default=0) >= REPEATS_OF_ONE or sum(count >= REPEATS for count in often) >= 2
