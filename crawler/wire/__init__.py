"""The wire: one request, and exactly what it put there and what came back.

1. No address is connected to that the guard blocks (`address`), whether it stood in the URL or in a DNS answer (`dns`). The
   check is made on the very address that the socket is opened for (`dial`).
   Names of private networks that only a proxy knows, and ports of other services, are not asked for (`guard`).
2. Before an exchange the caller is asked whether that address may be asked now (`Enter`). The exchange is with that
   address and no other. Where nobody can be reached there, or nobody answers at once, a second one is tried, of the other
   family if there is one: it is entered as well.
3. Nothing is followed, decoded or rewritten: the URL is sent as it is. Cookies are remembered (`cookies`) and a domain is
   told who asks (`credentials`) only where a configuration says so; `request` says what of that is archived.
4. Trouble is data. A response whose head came is a `Capture`, with `truncated` saying why it is not whole:
   `length` (`max_body` bytes of body, as they came over the wire), `time` (too long, or too slow), `disconnect` (the
   connection ended early), `unspecified` (the framing is broken). Otherwise a `Failure`.
5. A failure says what it shows (`Sign`): whether somebody out there answered, or something of our own side did not. `probes` ask
   our own side, and knock at others, without asking a web server anything.
6. Every part has a limit of its own (`limits`), and memory is bounded whatever a server sends (`reading`, `http2`).
7. Connections are kept and used again (`pool`). One that was kept and closes before it has answered is replaced: a server
   may close it at any time. A server that breaks h2 is asked once more in HTTP/1.1, and only so from then on. Nothing
   else is asked a second time, and nothing but GET and HEAD.

The life of an exchange: `client` resolves, enters and takes a connection from the pool or dials one; the connection
(`http1`, `http2`) speaks, a `Watch` (`heard`) looks at the clock, and what came is read by `reading` and `message`.
"""

from crawler.wire.client import Client
from crawler.wire.fetch_failure import (
    Acquire,
    FailureReason,
    FetchFailure,
    Postponement,
    Symptom,
    acquire_at_once,
    utc_ms,
)
from crawler.wire.http.message import Headers, header_value
from crawler.wire.network.address import Network, effective_address, is_blocked, is_public, parse_networks
from crawler.wire.wire_settings import WireSettings

__all__ = [
    "Acquire",
    "Client",
    "FailureReason",
    "FetchFailure",
    "Headers",
    "Network",
    "Postponement",
    "Symptom",
    "WireSettings",
    "acquire_at_once",
    "effective_address",
    "header_value",
    "is_blocked",
    "is_public",
    "parse_networks",
    "utc_ms",
]
