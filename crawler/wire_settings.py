"""`WireSettings`: how a worker speaks to servers. Everything that a configuration says of one exchange."""

import ipaddress
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from thresher.core.settings import Check, Key, Size, rule


def _require_networks(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        ipaddress.ip_network(text)
    return texts


_TIMEOUT = rule(lambda seconds: 0 < seconds < math.inf, "must be more than 0 and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSettings:
    """`timeout` is the time to the first byte. DNS, connection and TLS have 10 seconds each, or `timeout` if that is
    less, and the whole exchange has four times as long. `auth` has a table for each domain: `user` and `password`, or
    `headers`, whose values may be `env:NAME`, and `http = true` if they may go over connections that others can read.
    """

    max_body: Annotated[Size, Key("longer bodies are cut there and marked WARC-Truncated", is_size=True)] = (
        10 << 20
    )
    timeout: Annotated[
        float, _TIMEOUT, Key("seconds to the first byte; a whole exchange may take four times as long")
    ] = 30.0
    allow_networks: Annotated[
        tuple[str, ...],
        Check(_require_networks),
        Key("CIDRs exempt from the block on private, loopback and link-local addresses"),
    ] = ()
    verify_tls: Annotated[bool, Key("false takes pages whose certificate is not trusted, and notes that")] = (
        True
    )
    nameservers: Annotated[tuple[str, ...], Key('"192.0.2.53:53"; the system\'s if the list is empty')] = ()
    proxy: Annotated[
        str,
        Key('"http://user:password@host:port" or "socks5://host:port"; no environment variable sets it'),
    ] = field(default="", repr=False)
    cookies: Annotated[bool, Key("true sends back the cookies that hosts set, within their domain")] = False
    auth: Annotated[
        Mapping[str, Mapping[str, Any]],
        Key(
            "the credentials for that host and those under it: user and password, or headers; see the docs",
            example='[crawler.auth."example.org"]',
        ),
    ] = field(default_factory=dict, repr=False)
