"""Run the garbage collector rarely while many documents are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLD = 20_000
"""New objects that start a collection. A page leaves 100 to 500 behind, nearly all of them in caches: a collection
comes after 40 to 200 pages."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage after `THRESHOLD` new objects instead of 700.

    A collection visits all new objects, and every hundredth one visits the caches too, which are large. Both took a
    twentieth of the time of extraction.
    """
    before = gc.get_threshold()
    gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
