"""Check what a user gives to a loader, and write it in messages."""

import numbers
import operator
from typing import Any

from thresher.core import InputError

MAX_SEED = (1 << 63) - 1
MAX_SEQUENCES = 1 << 62
"""No run has more sequences, so that sums with a step stay within 64 bits."""
MAX_SHOWN = 80


def whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number of Python or NumPy as an int. Raise `InputError`, which names it, for anything else."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return operator.index(value)
    raise InputError(f"{name}={shown(value)}: give a whole number from {least} to {most}")


def shown(value: object) -> str:
    """Return how Python writes a value, in one line that is not too long."""
    try:
        text = repr(value).replace("\n", " ")
    except (
        ValueError,
        RecursionError,
    ):  # a number of more than 4,300 digits; a list that holds itself too deep
        return f"a {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
