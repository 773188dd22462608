"""Moments in ISO 8601, as every Python reads them."""

import re
from datetime import datetime

_HOUR_24 = re.compile(r"(?:\d{4}-(?:\d\d|W\d\d)-\d{1,2}|\d{8}|\d{4}-?W\d{2,3})[^\d-]24")


def parse_moment(text: str) -> datetime:
    """Return the moment that `text` states. Raise `ValueError` if it states none. The hour 24 is none, though Python
    3.14 reads it as the next midnight.
    """
    if _HOUR_24.match(text):
        raise ValueError(f"{text!r} has no such hour")
    return datetime.fromisoformat(text)
