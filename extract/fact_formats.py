"""Recognise facts in the formats of pages and PDFs: a day, a language, a Creative Commons licence. Pure."""

import re
from datetime import date

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
"""A language tag (BCP 47) as it is written on pages."""
_LICENSE = re.compile(
    r"(?:https?:)?(//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[a-z+-]{1,20}(?:/\d\.\d)?)",
    re.IGNORECASE | re.ASCII,
)


def day(found: re.Match[str] | None) -> str:
    """Return the day of a match with the groups year, month and day, in ISO 8601; return `""` if it is no valid day."""
    if found is None:
        return ""
    try:
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return ""


def creative_commons(text: str) -> str:
    """Return the URL of the first Creative Commons licence in a text, up to its version; return `""` if it has none."""
    found = _LICENSE.search(text)
    return f"https:{found[1]}" if found else ""
