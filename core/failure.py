"""`Failure`: an exception while a program of ours read bytes of somebody else's.

Such bytes are data, whatever they are: a record that no reader expected costs that record, and nothing else. So every
reader of one record, page or file reads it within `failure_boundary`, and turns a `Failure` into that record's outcome.
"""

from traceback import extract_tb, format_tb
from types import TracebackType
from typing import Self

from thresher.core.errors import ThresherError
from thresher.core.unicode14 import is_printable

FAILURE_PREFIX = "failed:"
"""The beginning of the reason codes of failures."""
MAX_MESSAGE_CHARACTERS = 200
"""Characters kept of an exception's message, because it may hold the bytes that it is about."""
MAX_TEXT_FRAMES = 4
"""Frames of the traceback that the text names, the innermost last."""
MAX_TRACEBACK_FRAMES = 16
"""Innermost frames of the traceback that are kept."""


class Failure(Exception):
    """A named step raised an exception on somebody else's bytes. The text is one printable line that says where."""

    def __init__(self, text: str, *, reason: str, traceback: str) -> None:
        super().__init__(text)
        self.reason = reason
        """Reason code with the step and the exception: `failed:extract:ValueError`."""
        self.traceback = traceback
        """Python's traceback of the exception: the innermost frames, and the exception's message cut short."""

    @classmethod
    def from_exception(cls, step: str, error: Exception) -> Self:
        """Return the failure of a step, made from an exception."""
        message = "".join(
            character if is_printable(character) else " "
            for character in _message(error)[:MAX_MESSAGE_CHARACTERS]
        )
        places = [
            f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
            for frame in extract_tb(error.__traceback__)[-MAX_TEXT_FRAMES:]
        ]
        name = type(error).__name__
        return cls(
            f"{step}: {name}: {message} ({' > '.join(places)})",
            reason=f"{FAILURE_PREFIX}{step}:{name}",
            traceback=f"{''.join(format_tb(error.__traceback__)[-MAX_TRACEBACK_FRAMES:])}{name}: {message}",
        )


def _message(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - exceptions of libraries and spiders may fail at that too
        return "it cannot be printed"


class failure_boundary:  # noqa: N801 - a context manager, written as a class because each record enters it
    """Turn an exception of the body into a `Failure` of that step, unless the bytes cannot be its cause.

    The bytes cannot cause errors that Thresher raises on purpose, exhausted memory, and refusals of the operating
    system (an `OSError` with an error number): a run with these cannot go on.
    """

    __slots__ = ("_step",)

    def __init__(self, step: str) -> None:
        self._step = step

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, ThresherError | Failure | MemoryError):
            return
        if isinstance(error, OSError) and error.errno is not None:
            return
        raise Failure.from_exception(self._step, error) from error
