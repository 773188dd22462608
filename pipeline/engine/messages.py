"""The messages between a worker process that makes a part and its parent, in MessagePack.

The worker sends requests, and the parent responds: it reads the inputs of the part, and takes its outputs. A page that
the worker parses may take the worker over. Therefore each of its messages decodes as one of these types or is rejected,
and none of them carries code.
"""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

MAX_MESSAGE_BYTES = 64 << 20
"""Maximum size of one message, in either direction."""
CHUNK_BYTES = 1 << 20
"""Maximum bytes of an object in one message."""
MAX_SPANS = 4_096
"""Maximum number of spans that one message asks for."""
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 62)]
Length: TypeAlias = Annotated[int, Meta(ge=0, le=CHUNK_BYTES)]
Number: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 62)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]
Name: TypeAlias = Annotated[str, Meta(max_length=1_000)]
MAX_LINE_CHARACTERS = 4_000
"""Maximum length of a line for the log."""
Line: TypeAlias = Annotated[str, Meta(max_length=MAX_LINE_CHARACTERS)]
CountName: TypeAlias = Annotated[str, Meta(pattern=r"^[!-~][ -~]{0,199}$")]
"""The name of a count. It is shown to people, on terminals too, so it has printable ASCII characters only."""


class OpenObject(msgspec.Struct, frozen=True, tag=True):
    """Asks for the size of an object. The response is `ObjectSize`."""

    name: Name


class ReadObject(msgspec.Struct, frozen=True, tag=True):
    """Asks for bytes of an object. The response is `ObjectBytes`, shorter only at the end of the object."""

    name: Name
    at: Offset
    length: Length


class ReadSpans(msgspec.Struct, frozen=True, tag=True):
    """Asks for the bytes of several spans of an object, joined. The response is `ObjectBytes`, shorter only at the end
    of the object, or if the spans have more than `CHUNK_BYTES` together.
    """

    name: Name
    spans: Annotated[list[tuple[Offset, Length]], Meta(max_length=MAX_SPANS)]


class StampObject(msgspec.Struct, frozen=True, tag=True):
    """Asks for the stamp of an object. The response is `ObjectStamp`."""

    name: Name


class WriteOutput(msgspec.Struct, frozen=True, tag=True):
    """Appends bytes to an output. There is no response."""

    name: Name
    data: bytes


class FinishOutput(msgspec.Struct, frozen=True, tag=True):
    """Ends an output. The response is `OutputDigest`."""

    name: Name


class LogLine(msgspec.Struct, frozen=True, tag=True):
    """A warning for the log of the command, because the worker itself can write nowhere. There is no response."""

    text: Line


class SealPart(msgspec.Struct, frozen=True, tag=True):
    """Reports that the part is made, and asks to seal it."""

    counts: Annotated[dict[CountName, Number], Meta(max_length=100_000)]
    rows: Annotated[dict[Name, Number], Meta(max_length=1_000)]
    """Rows by name of the outputs that the seal lists."""
    work_cpu_s: Seconds
    cpu_s: Seconds


class ErrorMessage(msgspec.Struct, frozen=True, tag=True):
    """Reports an error, from either side."""

    kind: str
    """Name of a class of `core.errors`."""
    text: str
    detail: str = ""
    """The traceback, if the error is not a `ThresherError`."""


class ObjectSize(msgspec.Struct, frozen=True, tag=True):
    """The size of an object in bytes."""

    size: int


class ObjectStamp(msgspec.Struct, frozen=True, tag=True):
    """A text that changes if another object is put under the name."""

    stamp: str


class ObjectBytes(msgspec.Struct, frozen=True, tag=True):
    """Bytes of an object."""

    data: bytes


class OutputDigest(msgspec.Struct, frozen=True, tag=True):
    """The size and the digest of an output."""

    bytes: int
    sha256: str


Request: TypeAlias = OpenObject | ReadObject | ReadSpans | StampObject | WriteOutput | FinishOutput | LogLine
ONE_WAY = (WriteOutput, LogLine)
"""Messages without a response."""
WorkerMessage: TypeAlias = Request | SealPart | ErrorMessage
Response: TypeAlias = ObjectSize | ObjectBytes | ObjectStamp | OutputDigest | ErrorMessage | None

encode = msgspec.msgpack.Encoder().encode
decode_worker_message = msgspec.msgpack.Decoder(WorkerMessage).decode
"""Decode a message of a worker. Raises `msgspec.MsgspecError` for anything else."""
decode_response = msgspec.msgpack.Decoder(Response).decode
"""Decode a response of the parent."""
