"""fastText models as bytes, and how to apply them. `fasttext_layout` says whether bytes are a whole model.

fastText's library opens a path only. `open_path` gives the bytes a path in memory (memfd), which a confined process
cannot do; models are therefore loaded before a worker is confined.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from thresher.filters.models.fasttext_layout import LABEL

MAX_CHARACTERS = 1_000_000
"""Characters of a text that a classifier reads, so that one text of any length takes bounded time."""


@contextmanager
def open_path(data: bytes) -> Iterator[str]:
    """Yield a path under which `data` can be read. Memory holds it as long as the context, or a mapping, is open."""
    descriptor = os.memfd_create("model")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view[: 1 << 30]) :]
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def load_classifier(data: bytes) -> Callable[[str, str], float]:
    """Return a deterministic function of a text and a label: the score of the label, 0 to 1."""
    model = _model(data)

    def score(text: str, label: str) -> float:
        names, scores = model.predict(model_input(text), k=-1)
        found = dict(zip(names, scores, strict=True)).get(f"{LABEL}{label}", 0.0)
        return min(max(float(found), 0.0), 1.0)

    return score


def load_predictor(data: bytes) -> Callable[[str], tuple[str, float]]:
    """Return a deterministic function of a text: the label with the highest score, and the score."""
    model = _model(data)

    def predict(text: str) -> tuple[str, float]:
        names, scores = model.predict(model_input(text), k=1)
        return (names[0].removeprefix(LABEL), min(float(scores[0]), 1.0)) if names else ("", 0.0)

    return predict


def _model(data: bytes) -> Any:
    import fasttext  # noqa: PLC0415 - loads a native library

    with open_path(data) as path:
        return fasttext.load_model(path)


def model_input(text: str) -> str:
    """Return the begin of a text on one line, as fastText reads it. A lone surrogate becomes a question mark."""
    line = " ".join(text[:MAX_CHARACTERS].replace("\0", " ").split())
    return line if line.isascii() else line.encode(errors="replace").decode()
