"""Addresses that log in or out. Pure.

They are not requested under a session: a link to one of them must not end it.
"""

import re
from collections.abc import Collection

from thresher.core import Url

_LOGS = re.compile(
    r"(?:(?<![A-Za-z])(?:log|sign)|Log|Sign)[-_]?(?:(?:out|off|Out|Off)(?![a-z])|(?:in|on|In|On)(?=\.\w+\Z|\Z))"
)
"""A last part of a path such as `logout.php`, `sign-in`, `Special:UserLogout`."""
_LOGS_OUT = re.compile(r"(?:\A|[?&=])(?:log|sign)[-_]?(?:out|off)(?:[=&]|\Z)", re.IGNORECASE)
"""A query such as `action=logout`."""


def page_of(url: Url) -> str:
    """Return host and path of an address, without the slash at its end."""
    return url.text.partition("?")[0].partition("://")[2].rstrip("/")


def is_login_address(url: Url, login_pages: Collection[str]) -> bool:
    """Return whether an address logs in or out."""
    path, _, query = url.text.partition("://")[2].partition("?")
    return (
        page_of(url) in login_pages
        or _LOGS.search(path.rstrip("/").rpartition("/")[2]) is not None
        or _LOGS_OUT.search(query) is not None
    )
