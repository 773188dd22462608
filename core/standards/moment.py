"""Moments in ISO 8601, as every Python reads them."""

import re
from datetime import datetime

_ODD = re.compile(
    r"(?:\d{4}-(?:\d\d-\d\d|W\d\d-\d)|\d{8}|\d{4}W\d{3}|\d{4}-?W\d\d(?!-?\d))(?:[^Tt ]|.24)", re.DOTALL
)


def parse_moment(text: str) -> datetime:
    """Return the moment that `text` states. Raise `ValueError` if it states none. The hour 24 is none, though Python
    3.14 reads it as the next midnight; nor is a date with another sign than T or a blank behind it.
    """
    if _ODD.match(text):
        raise ValueError(f"{text!r} is no moment")
    return datetime.fromisoformat(text)
