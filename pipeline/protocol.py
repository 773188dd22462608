"""What a worker process that makes a part and its parent say to each other, in MessagePack.

The worker asks, and the parent answers: it reads what the part is made from, and takes what is made of it. A worker may be taken over by
the page that it parses: so all that it says is decoded as one of these types or not at all, and none of it is code.
"""

from typing import TypeAlias

import msgspec

MOST_MESSAGE = 64 << 20
"""Bytes of one message, in either direction."""
PIECE = 1 << 20
"""Bytes of an object in one message, at most."""


class Open(msgspec.Struct, frozen=True, tag=True):
    """How many bytes has this object? Answered by `Opened`."""

    name: str


class Read(msgspec.Struct, frozen=True, tag=True):
    """Give me some of its bytes. Answered by `Bytes`, which are fewer only at the end of the object."""

    name: str
    at: int
    length: int


class Stamp(msgspec.Struct, frozen=True, tag=True):
    """Is it still the same object? Answered by `Stamped`."""

    name: str


class Write(msgspec.Struct, frozen=True, tag=True):
    """Add these bytes to what I make under that name. Not answered."""

    name: str
    data: bytes


class Finish(msgspec.Struct, frozen=True, tag=True):
    """That was all of it. Answered by `Finished`."""

    name: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """The part is made: seal it."""

    counts: dict[str, int]
    rows: dict[str, int]
    """Of the outputs that the seal names, by their names."""
    work_cpu_s: float
    cpu_s: float


class Failed(msgspec.Struct, frozen=True, tag=True):
    """It cannot be done; said by either side."""

    kind: str
    """Name of a class of `core.errors`."""
    text: str
    detail: str = ""
    """A traceback, where the error is none of ours."""


class Opened(msgspec.Struct, frozen=True, tag=True):
    """How many bytes an object has."""

    size: int


class Stamped(msgspec.Struct, frozen=True, tag=True):
    """A text that differs when another object was put under the name."""

    stamp: str


class Bytes(msgspec.Struct, frozen=True, tag=True):
    """Some bytes of an object."""

    data: bytes


class Finished(msgspec.Struct, frozen=True, tag=True):
    """What an output came to."""

    bytes: int
    sha256: str


Ask: TypeAlias = Open | Read | Stamp | Write | Finish
Said: TypeAlias = Ask | Done | Failed
Answer: TypeAlias = Opened | Bytes | Stamped | Finished | Failed | None

encode = msgspec.msgpack.Encoder().encode
said = msgspec.msgpack.Decoder(Said).decode
"""What a worker said. Raises `msgspec.MsgspecError` for anything else."""
answer = msgspec.msgpack.Decoder(Answer).decode
"""What its parent answered."""
