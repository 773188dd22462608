"""`PolicySettings`: whether a crawl looks for traps, whether the order of parameters tells pages apart, and for which
hosts otherwise.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from thresher.core import InputError
from thresher.core.settings import Check, Key
from thresher.frontier import HostSwitch, UrlPolicy
from thresher.frontier.urls.host_name import host_name

HOST_KEYS = ("traps", "query_order")


def _require_hosts(tables: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    for name, table in tables.items():
        host_name(name, "crawler.hosts")
        for key, value in table.items():
            if key not in HOST_KEYS:
                near = difflib.get_close_matches(key, HOST_KEYS, n=1, cutoff=0.0)
                raise InputError(f'unknown key crawler.hosts."{name}".{key}; did you mean {near[0]!r}?')
            if not isinstance(value, bool):
                raise InputError(f'crawler.hosts."{name}".{key} must be true or false, not {value!r}')
    return tables


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """`traps` and `query_order` hold for all hosts, except those that `hosts` has a table for, and the hosts under
    these.
    """

    traps: Annotated[bool, Key("false follows links that look endless as well")] = True
    query_order: Annotated[bool, Key("true takes ?a=1&b=2 and ?b=2&a=1 for two pages")] = False
    hosts: Annotated[
        Mapping[str, Mapping[str, Any]],
        Check(_require_hosts),
        Key(
            "traps and query_order for that host and those under it",
            example='[crawler.hosts."example.org"]',
        ),
    ] = field(default_factory=dict)

    @property
    def policy(self) -> UrlPolicy:
        """The policy that the frontier keeps."""
        return UrlPolicy(
            traps=self._switch("traps", on=self.traps),
            query_order=self._switch("query_order", on=self.query_order),
        )

    def _switch(self, key: str, *, on: bool) -> HostSwitch:
        hosts = {
            host_name(name, "crawler.hosts"): table[key] for name, table in self.hosts.items() if key in table
        }
        return HostSwitch(on=on, hosts=hosts)
