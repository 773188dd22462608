"""HTTP connections of a boto3 client that can be ended early, and that take no reply whose head was cut off.

1. A connection gives its socket to the attempt it serves (`in_flight.Attempt`), which shuts it to end the wait.
2. `http.client` takes the end of the stream for the end of a head. A list whose head was cut off would be empty, and an
   object would be without its mark. So a head that does not end with an empty line is an error.

botocore has no public way to set the classes of its connections. `use_own_connections` replaces them in its pools, and
fails if botocore no longer keeps them there: a client without these two promises is never used.
"""

from http.client import HTTPResponse, IncompleteRead
from io import BufferedIOBase
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

from thresher.storage.s3.in_flight import current_attempt

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

CONNECT_S = 10
"""Seconds to connect to one address of the server."""


class _Lines:
    """The lines of a head, and the last one that was read."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self.last = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last = self._stream.readline(limit)
        return self.last


class _Reply(HTTPResponse):
    def begin(self) -> None:
        """Read the head. Raise `IncompleteRead` if it was cut off."""
        stream = self.fp
        lines = _Lines(stream)
        self.fp = lines  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = stream
        if lines.last not in (b"\r\n", b"\n"):
            raise IncompleteRead(b"")


class _HttpConnection(AWSHTTPConnection):
    response_class = _Reply  # type: ignore[assignment]  # the stubs name a class of botocore's

    def connect(self) -> None:
        _limit_connecting(self)
        super().connect()
        _attach(self)

    def request(self, *args: Any, **options: Any) -> Any:
        _attach(self)
        return super().request(*args, **options)


class _HttpsConnection(AWSHTTPSConnection):
    response_class = _Reply  # type: ignore[assignment]  # the stubs name a class of botocore's

    def connect(self) -> None:
        _limit_connecting(self)
        super().connect()
        _attach(self)

    def request(self, *args: Any, **options: Any) -> Any:
        _attach(self)
        return super().request(*args, **options)


class _HttpPool(AWSHTTPConnectionPool):
    ConnectionCls = _HttpConnection


class _HttpsPool(AWSHTTPSConnectionPool):
    ConnectionCls = _HttpsConnection


def use_own_connections(client: "S3Client") -> None:
    """Let the client use the connections of this module. Call it before the first request."""
    pools: dict[str, type] = client._endpoint.http_session._pool_classes_by_scheme  # type: ignore[attr-defined]  # noqa: SLF001 - see the module
    assert set(pools) == {"http", "https"}
    pools.update(http=_HttpPool, https=_HttpsPool)


def _limit_connecting(connection: AWSHTTPConnection | AWSHTTPSConnection) -> None:
    """Connect no longer than the attempt may last: there is no socket yet that could be shut."""
    attempt = current_attempt()
    if attempt is not None:
        connection.timeout = min(connection.timeout or CONNECT_S, attempt.remaining_s())


def _attach(connection: AWSHTTPConnection | AWSHTTPSConnection) -> None:
    attempt = current_attempt()
    if attempt is not None:
        attempt.attach(connection.sock)
