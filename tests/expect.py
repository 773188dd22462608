"""What a test takes for granted of a value, checked, so that it fails with the value that came instead."""

from typing import TypeVar

T = TypeVar("T")


def expect(kind: type[T], value: object) -> T:
    """Return the value, which is an instance of `kind`. Raises `AssertionError` with the value if it is not."""
    assert isinstance(value, kind), value
    return value
