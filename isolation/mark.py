"""`Mark`: a number in memory that a process shares with its parent, and that outlives it."""

import mmap
import os
from typing import Self

SIZE = 8
"""Bytes of the number: signed, of this machine's byte order."""


class Mark:
    """The number. One process writes it, at no cost; the other reads it, whatever became of the first."""

    __slots__ = ("_memory", "descriptor")

    def __init__(self, descriptor: int) -> None:
        """The one whose memory lies there."""
        self.descriptor = descriptor
        self._memory = memoryview(mmap.mmap(descriptor, SIZE)).cast("q")

    @classmethod
    def make(cls, value: int) -> Self:
        """A new one; a process that inherits its `descriptor` has the same."""
        descriptor = os.memfd_create("mark")
        os.ftruncate(descriptor, SIZE)
        mark = cls(descriptor)
        mark.value = value
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
