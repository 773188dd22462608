"""`[crawler.hosts."NAME"]` tables: what holds otherwise for a host and those under it."""

import difflib
from collections.abc import Mapping
from typing import Any

from core import InputError

KEYS = ("traps", "query_order")
_INVALID_CHARACTERS = frozenset(" \t\r\n/\\:@?#=")


def check_hosts(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `InputError` for a name that is no host's, for a key that is not known, and for a value that is neither true nor
    false.
    """
    for name, table in tables.items():
        if not name or _INVALID_CHARACTERS & set(name):
            raise invalid_host_error(name)
        for key, value in table.items():
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.0)
                raise InputError(f'unknown key crawler.hosts."{name}".{key}; did you mean {near[0]!r}?')
            if not isinstance(value, bool):
                raise InputError(f'crawler.hosts."{name}".{key} must be true or false, not {value!r}')


def invalid_host_error(name: str) -> InputError:
    """What is wrong with a name."""
    return InputError(
        f'crawler.hosts."{name}" is no host name; write such as "shop.example.org", without a port'
    )
