"""System calls that fail on demand: the nearest thing to a kill, or a full disk, at every one of them."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

CALLS = ("open", "link", "unlink", "mkdir", "fsync", "pwrite", "truncate", "scandir")


@contextmanager
def failing_at(number: int, code: int = errno.EIO, calls: tuple[str, ...] = CALLS) -> Iterator[list[str]]:
    """Let the call of that number fail, and every one after it; yields the names of those made before."""
    made: list[str] = []

    def watched(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if len(made) >= number:
                raise OSError(code, os.strerror(code))
            made.append(name)
            return real(*args, **kwargs)

        return call

    with _patched({name: watched(name, getattr(os, name)) for name in calls}):
        yield made


def count_calls(action: Callable[[], object]) -> int:
    """How many system calls the action makes."""
    with failing_at(1 << 30) as made:
        action()
    return len(made)


@contextmanager
def _patched(replacements: dict[str, Callable[..., object]]) -> Iterator[None]:
    name, *rest = replacements
    with patch.object(os, name, replacements[name]):
        if rest:
            with _patched({key: replacements[key] for key in rest}):
                yield
        else:
            yield
