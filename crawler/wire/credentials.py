"""Credentials: headers that a configuration sends to the servers of one domain, and to no others.

1. They are for that host and the hosts under it; of two domains that match, the longer name counts. They are sent over
   https only, unless `http = true` says that others may read them on the way.
2. A value `env:NAME` is the value of that environment variable, so that a configuration file need not hold secrets.
3. They are not archived (`crawler.wire.http.request`), and no log or `repr` shows them.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thresher.core import InputError
from thresher.crawler.wire.http.request import Target

_KEYS = frozenset({"user", "password", "headers", "http"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """The headers for one domain."""

    domain: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    allow_http: bool = False
    """Whether they may go over connections that others can read."""


def credentials(tables: Mapping[str, Mapping[str, Any]]) -> tuple[Credential, ...]:
    """Return the credentials of `[crawler.auth."DOMAIN"]` tables. Raise `InputError`, without the table's values, if
    one is wrong.
    """
    return tuple(_credential(domain, table) for domain, table in tables.items())


def headers_for(target: Target, known: tuple[Credential, ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a request to `target` carries as credentials."""
    host = target.host
    fitting = [
        one
        for one in known
        if (host == one.domain or host.endswith(f".{one.domain}"))
        and (one.allow_http or target.scheme == "https")
    ]
    return max(fitting, key=lambda one: len(one.domain)).headers if fitting else ()


def _credential(domain: str, table: Mapping[str, Any]) -> Credential:
    where = f'crawler.auth."{domain}"'
    unknown = set(table) - _KEYS
    if unknown:
        raise InputError(f"{where}: unknown key {min(unknown)!r}; there are {', '.join(sorted(_KEYS))}")
    headers_table = table.get("headers", {})
    if not isinstance(headers_table, Mapping) or not isinstance(table.get("http", False), bool):
        raise InputError(f"{where}: headers must be a table of strings, and http true or false")
    headers = [(name, _value(f"{where}.headers", value)) for name, value in headers_table.items()]
    if "user" in table or "password" in table:
        user, password = (_value(where, table.get(key, "")) for key in ("user", "password"))
        if not user or ":" in user:
            raise InputError(f"{where}: user must not be empty or have a colon in it")
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers.append(("Authorization", f"Basic {pair}"))
    if not headers:
        raise InputError(f"{where}: says nothing; write user and password, or headers")
    return Credential(
        domain=domain.lower().strip("."), headers=tuple(headers), allow_http=bool(table.get("http", False))
    )


def _value(where: str, value: Any) -> str:
    if not isinstance(value, str) or any(each in value for each in "\r\n\0"):
        raise InputError(f"{where}: write strings of one line")
    if not value.startswith("env:"):
        return value
    name = value.removeprefix("env:")
    if name not in os.environ:
        raise InputError(f"{where}: the environment variable {name} is not set")
    return os.environ[name]
