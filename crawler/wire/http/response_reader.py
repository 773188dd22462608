"""`ResponseReader`: one HTTP/1 response while its bytes arrive. Pure: bytes go in, a `Message` comes out.

1. However the bytes are cut into pieces, the message is the same, and each byte is looked at a bounded number of times.
2. The reader never holds more than a head (`MAX_HEAD_BYTES`), the longest body, and the piece that came last.
3. It skips interim responses and empty lines before the status line, up to a number; they are no part of the response.
4. Bytes after the end that the framing states belong to no response and are not kept.
5. If the chunks are malformed, it keeps what arrives, up to the end of the connection, the limit, or a silence
   (`awaits_close`).
"""

import re

from thresher.crawler.wire.http.message import (
    SWITCHING,
    Head,
    Message,
    build_message,
    may_begin_response,
    read_head,
)
from thresher.crawler.wire.limits import MAX_HEAD_BYTES, MAX_INTERIM
from thresher.storage.warc.payload import parse_chunk_size

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_BLANK = re.compile(rb"[\r\n]+")
_MAX_BLANKS = 64
_LOOKED_AT = 5  # bytes that `may_begin_response` needs
_SIZE, _DATA, _CHUNK_END, _TRAILER, _BROKEN = range(5)


class ResponseReader:
    """Reads one response to one request."""

    __slots__ = (
        "_at",
        "_blanks",
        "_cut",
        "_end",
        "_ended",
        "_interim",
        "_max_body",
        "_method",
        "_received",
        "_scanned",
        "_state",
        "done",
        "fault",
        "head",
        "surplus",
    )

    def __init__(self, max_body: int, *, method: str = "GET") -> None:
        self._max_body, self._method = max_body, method
        self._received = bytearray()
        self._scanned = self._at = self._interim = self._blanks = 0
        self._state = _SIZE
        self._end: int | None = None
        self._cut = self._ended = False
        self.head: Head | None = None
        self.done = False
        """Whether the reader needs no more bytes."""
        self.surplus = False
        """Whether more bytes came than the response has."""
        self.fault: str | None = None
        """Why the bytes are no HTTP response; None if they may be one."""

    def feed(self, data: bytes) -> bool:
        """Take in `data`; return whether the reader wants no more."""
        if self.done:
            self.surplus = True
            return True
        self._received += data
        if self.head is not None or self._find_head():
            self._find_end()
        return self.done

    def close(self) -> None:
        """Note that the connection has ended."""
        if self.head is not None and self.head.chunked and self._state == _TRAILER:
            self._ended = True
        self.done = True

    @property
    def awaits_close(self) -> bool:
        """Whether only the end of the connection is outstanding; the framing cannot say when it comes."""
        return self.head is not None and self.head.chunked and self._state in {_TRAILER, _BROKEN}

    @property
    def is_broken(self) -> bool:
        """Whether the body is not framed as its head says."""
        return self._state == _BROKEN

    @property
    def ends_at_close(self) -> bool:
        """Whether the end of the connection is the end of the body."""
        return self.head is not None and self.head.body_length is None and not self.head.chunked

    @property
    def keep_alive(self) -> bool:
        """Whether the connection can be used for another response."""
        well = self._end is not None and self._ended and not self._cut and not self.surplus
        return well and self.head is not None and self.head.keep_alive

    def message(self) -> Message | None:
        """Return the response as far as it came; None if its head is incomplete."""
        head = self.head
        if head is None:
            return None
        end = len(self._received) if self._end is None else self._end
        with memoryview(self._received) as view:
            response = bytes(view[: min(end, head.length + self._max_body)])
        return build_message(head, response, is_complete=self._ended, is_over_limit=self._cut)

    def _find_head(self) -> bool:
        received = self._received
        while True:
            if self._scanned < _LOOKED_AT and not self._begins():
                return False
            end = _HEAD_END.search(received, max(self._scanned - 3, 0))
            if len(received) > MAX_HEAD_BYTES and (end is None or end.end() > MAX_HEAD_BYTES):
                self._refuse("no end of the head")
                return False
            if end is None:
                self._scanned = len(received)
                return False
            head = read_head(bytes(received[: end.end()]), method=self._method)
            if head is None:
                self._refuse("no HTTP response")
                return False
            if not 100 <= head.status < 200 or head.status == SWITCHING:
                self.head, self._at, self._scanned = head, head.length, head.length
                return True
            self._interim += 1
            if self._interim > MAX_INTERIM:
                self._refuse("too many interim responses")
                return False
            del received[: head.length]
            self._scanned = 0

    def _begins(self) -> bool:
        """Return whether the bytes so far begin a status line."""
        received = self._received
        blank = _BLANK.match(received)
        if blank is not None:
            self._blanks += blank.end()
            del received[: blank.end()]
        if self._blanks > _MAX_BLANKS or not may_begin_response(bytes(received[:_LOOKED_AT])):
            self._refuse("no HTTP response")
            return False
        return bool(received)

    def _refuse(self, why: str) -> None:
        self.fault, self.done = why, True

    def _find_end(self) -> None:
        head = self.head
        assert head is not None
        arrived = len(self._received) - head.length
        if head.chunked:
            self._follow_chunks()
        elif head.body_length is not None and arrived >= min(head.body_length, self._max_body):
            self._end, self._ended = head.length + head.body_length, True
            self._cut = head.body_length > self._max_body
        if self._end is not None:
            self.surplus = len(self._received) > self._end
            self._cut = self._cut or self._end - head.length > self._max_body
        elif arrived > self._max_body:
            self._cut = True
        self.done = self._cut or self._ended

    def _follow_chunks(self) -> None:
        """Go from chunk to chunk as far as they arrived (RFC 9112, section 7.1)."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Go on by one line or one chunk; return whether there is more to look at."""
        received = self._received
        if self._state in {_SIZE, _TRAILER}:
            line_end = received.find(b"\n", self._scanned)
            if line_end < 0:
                self._scanned = len(received)
                return False
            line = bytes(received[self._at : line_end])
            self._at = self._scanned = line_end + 1
            return self._trailer(line) if self._state == _TRAILER else self._size(line)
        if self._state == _DATA:
            if len(received) < self._at:
                return False
            self._state = _CHUNK_END
        if self._state == _CHUNK_END:
            behind = bytes(received[self._at : self._at + 2])
            if behind in {b"", b"\r"}:
                return False
            self._at += 2 if behind == b"\r\n" else behind[:1] == b"\n"
            self._scanned, self._state = self._at, _SIZE
            return True
        return False

    def _size(self, line: bytes) -> bool:
        size = parse_chunk_size(line.partition(b";")[0].strip())
        if size is None:
            self._state = _BROKEN
            return False
        self._at += size
        self._state = _DATA if size else _TRAILER
        return True

    def _trailer(self, line: bytes) -> bool:
        if line in {b"", b"\r"}:
            self._end, self._ended = self._at, True
            return False
        return True
