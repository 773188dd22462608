"""`read`: many ranges of objects at the same time.

1. Up to `THREADED_RANGES` ranges are read by boto3, at most `MAX_REQUESTS` at a time, in a thread each. There the start
   of the second client would take longer than it saves. More ranges are read by aioboto3 in one thread, at most
   `READ_AHEAD_REQUESTS` of them and `READ_AHEAD_BYTES` under way or unread (`storage.loop_thread`), so a slow caller is
   not overrun.
2. All ranges of one object are of the version that answered first: later requests carry its entity tag, and the tags
   of requests that were sent before it was known are compared with it.
"""

import re
import threading
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

from botocore.exceptions import ClientError

from thresher.core import CorruptData
from thresher.storage.s3.connection import Connection
from thresher.storage.s3.read import missing, of_length, replaced
from thresher.storage.s3.s3_client import MAX_REQUESTS
from thresher.storage.s3.s3_errors import DamagedReply, is_empty, is_missing, is_precondition_failed
from thresher.storage.store import ByteRange, check_name

THREADED_RANGES = 512
"""With as many requests under way, both clients read as many ranges a second. aioboto3 takes .6 ms of CPU time less for
each, and .4 s more until its client is open (`bench/storage/range_reads.py`)."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


def read(connection: Connection, prefix: str, ranges: Iterable[ByteRange]) -> Iterator[bytes]:
    """Yield the bytes of each range, in order. Raise as `Store.read_ranges` says."""
    reading = _Reading(connection=connection, prefix=prefix)
    rest = iter(ranges)
    first = list(islice(rest, THREADED_RANGES + 1))
    if len(first) <= THREADED_RANGES:
        works = [partial(reading.fetch, each) for each in first]
        slots = threading.Semaphore(MAX_REQUESTS)
        yield from connection.run(lambda it: it.in_flight.run_all(slots, works))
        return
    connection.run(Connection.check)

    def works_ahead() -> Iterator[tuple[None, int, Coroutine[Any, Any, bytes]]]:
        for each in chain(first, rest):
            check_name(each.name)
            yield None, each.length, reading.fetch_async(each)

    for _, coming in connection.loop.read_ahead(works_ahead()):
        yield connection.wait(coming)


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One call of `read`."""

    connection: Connection
    prefix: str
    etags: dict[str, str] = field(default_factory=dict)
    """The entity tags of the objects that were read so far, by their names."""

    def fetch(self, wanted: ByteRange) -> bytes:
        """Return the bytes of a range, by boto3."""
        check_name(wanted.name)
        if wanted.length == 0:
            return b""

        def attempt(s3: Any) -> tuple[str, bytes]:
            reply = s3.get_object(**self._request(wanted))
            with closing(reply["Body"]) as body:
                self._check(wanted, reply)
                return reply["ETag"], of_length(body.read(), wanted.length)

        with self._failures(wanted):
            etag, data = self.connection.send(attempt)
        return self._same(wanted, etag, data)

    async def fetch_async(self, wanted: ByteRange) -> bytes:
        """Return the bytes of a range, by aioboto3."""
        if wanted.length == 0:
            return b""

        async def attempt(s3: Any) -> tuple[str, bytes]:
            reply = await s3.get_object(**self._request(wanted))
            async with reply["Body"]:
                self._check(wanted, reply)
                return reply["ETag"], of_length(await reply["Body"].read(), wanted.length)

        with self._failures(wanted):
            etag, data = await self.connection.send_async(attempt)
        return self._same(wanted, etag, data)

    def _request(self, wanted: ByteRange) -> dict[str, str]:
        condition = {"IfMatch": self.etags[wanted.name]} if wanted.name in self.etags else {}
        span = f"bytes={wanted.first}-{wanted.first + wanted.length - 1}"
        return {
            "Bucket": self.connection.bucket,
            "Key": self.prefix + wanted.name,
            "Range": span,
            **condition,
        }

    def _check(self, wanted: ByteRange, reply: Any) -> None:
        """Raise `DamagedReply` if the reply has other bytes than those of the range, `CorruptData` if the object ends
        before it does.
        """
        found = _CONTENT_RANGE.fullmatch(reply.get("ContentRange", ""))
        if found is None or int(found[1]) != wanted.first:
            raise DamagedReply(f"asked for the bytes from {wanted.first} on")
        if int(found[3]) < wanted.first + wanted.length:
            raise self._too_short(wanted)

    @contextmanager
    def _failures(self, wanted: ByteRange) -> Iterator[None]:
        """Raise `CorruptData` for a refusal that says that the bytes are not there."""
        key = self.prefix + wanted.name
        try:
            yield
        except ClientError as error:
            if is_precondition_failed(error) or (is_missing(error) and wanted.name in self.etags):
                raise replaced(self.connection, key) from error
            if is_missing(error):
                raise missing(self.connection.location.uri, wanted.name) from error
            if is_empty(error):
                raise self._too_short(wanted) from error
            raise

    def _same(self, wanted: ByteRange, etag: str, data: bytes) -> bytes:
        """Return the bytes. Raise `CorruptData` if other ranges of the object were of another version."""
        if self.etags.setdefault(wanted.name, etag) != etag:
            raise replaced(self.connection, self.prefix + wanted.name)
        return data

    def _too_short(self, wanted: ByteRange) -> CorruptData:
        return CorruptData(
            f"s3://{self.connection.bucket}/{self.prefix}{wanted.name} ends before offset "
            f"{wanted.first + wanted.length}: it is not what was stored; run the step that makes it again"
        )
