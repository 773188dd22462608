"""What a worker process that makes a part and its parent say to each other, in MessagePack.

The worker asks, and the parent answers: it reads what the part is made from, and takes what is made of it. A worker may be taken over by
the page that it parses: so all that it says is decoded as one of these types or not at all, and none of it is code.
"""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

MAX_MESSAGE_BYTES = 64 << 20
"""Bytes of one message, in either direction."""
CHUNK_BYTES = 1 << 20
"""Bytes of an object in one message, at most."""
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 62)]
Length: TypeAlias = Annotated[int, Meta(ge=0, le=CHUNK_BYTES)]
Number: TypeAlias = Annotated[int, Meta(ge=0, le=1 << 62)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e12)]
Name: TypeAlias = Annotated[str, Meta(max_length=1_000)]
MAX_LINE_CHARACTERS = 4_000
"""Characters of a line for the log."""
Line: TypeAlias = Annotated[str, Meta(max_length=MAX_LINE_CHARACTERS)]
CountName: TypeAlias = Annotated[str, Meta(pattern=r"^[!-~][ -~]{0,199}$")]
"""The name of one: it is shown to people, on terminals too."""


class OpenObject(msgspec.Struct, frozen=True, tag=True):
    """How many bytes has this object? Answered by `ObjectSize`."""

    name: Name


class ReadObject(msgspec.Struct, frozen=True, tag=True):
    """Give me some of its bytes. Answered by `ObjectBytes`, which are fewer only at the end of the object."""

    name: Name
    at: Offset
    length: Length


class StampObject(msgspec.Struct, frozen=True, tag=True):
    """Is it still the same object? Answered by `ObjectStamp`."""

    name: Name


class WriteOutput(msgspec.Struct, frozen=True, tag=True):
    """Add these bytes to what I make under that name. Not answered."""

    name: Name
    data: bytes


class FinishOutput(msgspec.Struct, frozen=True, tag=True):
    """That was all of it. Answered by `OutputDigest`."""

    name: Name


class LogLine(msgspec.Struct, frozen=True, tag=True):
    """A warning for the log of the command: the worker itself can write nowhere. Not answered."""

    text: Line


class SealPart(msgspec.Struct, frozen=True, tag=True):
    """The part is made: seal it."""

    counts: Annotated[dict[CountName, Number], Meta(max_length=100_000)]
    rows: Annotated[dict[Name, Number], Meta(max_length=1_000)]
    """Of the outputs that the seal names, by their names."""
    work_cpu_s: Seconds
    cpu_s: Seconds


class ErrorMessage(msgspec.Struct, frozen=True, tag=True):
    """It cannot be done; said by either side."""

    kind: str
    """Name of a class of `core.errors`."""
    text: str
    detail: str = ""
    """A traceback, where the error is none of ours."""


class ObjectSize(msgspec.Struct, frozen=True, tag=True):
    """How many bytes an object has."""

    size: int


class ObjectStamp(msgspec.Struct, frozen=True, tag=True):
    """A text that differs when another object was put under the name."""

    stamp: str


class ObjectBytes(msgspec.Struct, frozen=True, tag=True):
    """Some bytes of an object."""

    data: bytes


class OutputDigest(msgspec.Struct, frozen=True, tag=True):
    """What an output came to."""

    bytes: int
    sha256: str


Request: TypeAlias = OpenObject | ReadObject | StampObject | WriteOutput | FinishOutput | LogLine
ONE_WAY = (WriteOutput, LogLine)
"""What the worker does not wait for an answer to."""
WorkerMessage: TypeAlias = Request | SealPart | ErrorMessage
Response: TypeAlias = ObjectSize | ObjectBytes | ObjectStamp | OutputDigest | ErrorMessage | None

encode = msgspec.msgpack.Encoder().encode
decode_worker_message = msgspec.msgpack.Decoder(WorkerMessage).decode
"""What a worker said. Raises `msgspec.MsgspecError` for anything else."""
decode_response = msgspec.msgpack.Decoder(Response).decode
"""What its parent answered."""
