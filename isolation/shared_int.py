"""`Mark`: a number in memory that a process shares with its parent, and that outlives it."""

import fcntl
import mmap
import os
import weakref
from typing import Self

INT_BYTES = 8
"""Bytes of the number: signed, of this machine's byte order."""


class SharedInt:
    """The number. One process writes it, at no cost; the other reads it, whatever became of the first."""

    __slots__ = ("__weakref__", "_memory", "descriptor")

    def __init__(self, descriptor: int) -> None:
        """The one whose memory lies there."""
        self.descriptor = descriptor
        self._memory = memoryview(mmap.mmap(descriptor, INT_BYTES)).cast("q")

    @classmethod
    def create(cls, value: int) -> Self:
        """A new one; a process that inherits its `descriptor` has the same."""
        descriptor = os.memfd_create("mark", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, INT_BYTES)
        # Whoever reads memory that another process has cut off is ended by the kernel.
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
