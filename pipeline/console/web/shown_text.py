"""Texts in pages: numbers, sizes, times, and what strangers wrote. Pure.

A template escapes every value; before that `foreign` makes characters visible that a reader must see and a terminal or
a browser obeys: control characters, and marks that reverse the text after them.
"""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from thresher.pipeline.terminal.printable import printable
from thresher.pipeline.terminal.rate import format_duration

KILO = 1000
MAX_SHOWN = 2_100
"""Characters of one value in a page, unless the template asks for more: a URL has 2,000 at most."""


def foreign(value: Any) -> Any:
    """Return a value as it may stand in a page. Numbers and pieces of our own markup stay."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}… ({len(value):,} characters)"
    return printable(text)


def long_text(value: str) -> Markup:
    """Return a whole text of a stranger, escaped."""
    return Markup.escape(printable(value))


def words(value: str) -> str:
    """Return the description of a reason without the marks around commands, which a terminal needs."""
    return value.replace("`", "")


def number(value: float | None) -> str:
    """Return `1,234,567`, or a dash for None."""
    return "–" if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """Return a number in at most four digits: `12.3 k`, `4.56 M`."""
    if value is None:
        return "–"
    size = float(value)
    for unit in ("", " k", " M", " G"):
        if abs(size) < KILO:
            return f"{size:.0f}" if not unit else f"{size:.{2 if abs(size) < 10 else 1}f}{unit}"
        size /= KILO
    return f"{size:.1f} T"


def rate(value: float | None) -> str:
    """Return a speed with the precision that it has: `0.3`, `12.4`, `1,234`."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def size(value: float | None) -> str:
    """Return a number of bytes: `1.2 GB`."""
    if value is None:
        return "–"
    left = float(value)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(left) < KILO or unit == "TB":
            return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"
        left /= KILO
    raise AssertionError


def share(part: float, whole: float = 1.0) -> str:
    """Return a share as `12.3 %`."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def duration(seconds: float | None) -> str:
    """Return a duration in at most two units, or a dash for None. A short one has a decimal."""
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if 0 < seconds < 10 else format_duration(seconds)


def in_seconds(value: float) -> str:
    """Return a setting in seconds as the user wrote it: `0.05 s`, `2 s`."""
    return f"{value:g} s"


def moment(ms: float | None) -> str:
    """Return a time as `2026-11-22 04:15:10` (UTC), or a dash for none."""
    if not ms or not 0 < ms < 253_402_300_799_000:
        return "–"
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def address(path: str, **values: Any) -> str:
    """Return an address of the console; every value is percent-encoded."""
    given = {key: value for key, value in values.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path


def segment(value: str) -> str:
    """Return a value as one segment of a path."""
    return quote(value, safe="")


def web_address(url: str) -> str:
    """Return the URL of a crawled page as a link may hold it: http or https, else no address."""
    return url if url.startswith(("http://", "https://")) else ""
