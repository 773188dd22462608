"""`SharedInt`: a number in memory that a process shares with its parent, and that outlives the process."""

import fcntl
import mmap
import os
import weakref
from typing import Self

INT_BYTES = 8
"""Bytes of the number, which is signed and in this machine's byte order."""


class SharedInt:
    """The number. One process writes it, at no cost; the other reads it, even after the first has died."""

    __slots__ = ("__weakref__", "_memory", "descriptor")

    def __init__(self, descriptor: int) -> None:
        """Open the number whose memory has this descriptor."""
        self.descriptor = descriptor
        self._memory = memoryview(mmap.mmap(descriptor, INT_BYTES)).cast("q")

    @classmethod
    def create(cls, value: int) -> Self:
        """Return a new number; a process that inherits its `descriptor` has the same."""
        descriptor = os.memfd_create("mark", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, INT_BYTES)
        # The kernel kills a process that reads memory which another process has truncated.
        fcntl.fcntl(
            descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        )
        mark = cls(descriptor)
        mark.value = value
        weakref.finalize(mark, os.close, descriptor)
        return mark

    @property
    def value(self) -> int:
        """The number."""
        return self._memory[0]

    @value.setter
    def value(self, value: int) -> None:
        self._memory[0] = value

    def __repr__(self) -> str:
        return f"<mark: {self.value}>"
