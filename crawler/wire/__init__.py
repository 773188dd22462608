"""The wire: send one request, and return exactly the bytes that were sent and received.

1. The client never connects to an address that the guard blocks (`network.address`), whether the address stood in the
   URL or in a DNS answer (`network.dns`). The guard checks the very address that the socket is opened for
   (`network.dial`). The client also requests no name of a private network that only a proxy knows, and no port of
   another kind of service (`network.guard`).
2. Before an exchange the caller says whether the address may be requested now (`Acquire`). The exchange is with that
   address and no other. If the address cannot be reached, or does not answer at once, the client tries a second one, of
   the other family if there is one. It acquires that address as well.
3. The client follows, decodes and rewrites nothing: it sends the URL as it is. It stores cookies (`cookies`) and sends
   credentials to a domain (`credentials`) only if the configuration says so; `http.request` says what of that is
   archived.
4. Failures are data. If the head of a response arrived, the result is a `Capture`, and its `truncated` says why it is
   incomplete: `length` (`max_body` bytes of body, as they came over the wire), `time` (too long, or too slow),
   `disconnect` (the connection ended early), `unspecified` (the framing is broken). Otherwise the result is a
   `FetchFailure`.
5. A failure has a `Symptom`: a remote side answered, or a part of our own side did not. `network.probes` test our own
   side, and test whether other hosts answer, without a request to a web server.
6. Each part has its own limit (`limits`), and memory is bounded whatever a server sends (`http.response_reader`,
   `http.http2`).
7. Connections are kept and used again (`http.pool`). If a kept connection closes before it has answered, the client
   replaces it, because a server may close an idle connection at any time. If a server breaks h2, the client repeats the
   request in HTTP/1.1, and uses only HTTP/1.1 for that origin from then on. Only GET and HEAD are repeated, and only in
   these two cases.

The life of an exchange: `client` resolves the name, acquires the address, and takes a connection from the pool or dials
one. The connection (`http.http1`, `http.http2`) speaks, an `ExchangeTimer` (`http.exchange`) watches the clock, and
`http.response_reader` and `http.message` read what arrives.

The package does not import its own `client.Client`, and its settings lie beside it (`crawler.wire_settings`): commands
read them and send no request.
"""

from thresher.crawler.wire.fetch_failure import (
    Acquire,
    FailureReason,
    FetchFailure,
    Postponement,
    Symptom,
    acquire_at_once,
    utc_ms,
)
from thresher.crawler.wire.http.message import Headers
from thresher.crawler.wire.network.address import (
    Network,
    effective_address,
    is_blocked,
    is_public,
    parse_networks,
)
from thresher.crawler.wire.sent_exchange import SentExchange
from thresher.crawler.wire_settings import WireSettings

__all__ = [
    "Acquire",
    "FailureReason",
    "FetchFailure",
    "Headers",
    "Network",
    "Postponement",
    "SentExchange",
    "Symptom",
    "WireSettings",
    "acquire_at_once",
    "effective_address",
    "is_blocked",
    "is_public",
    "parse_networks",
    "utc_ms",
]
