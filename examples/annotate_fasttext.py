"""Annotate documents with the label of a fastText classifier, such as one of topics or of quality.

Put this file into the project's directory, with a model (`thresher train quality` makes one from texts of your own):

    thresher annotate topic docs --with annotate_fasttext:Label -a model=topics.bin --version-of topics.bin

Each document gets the columns `label` and `label_score`.
"""

from typing import ClassVar

import fasttext

from thresher import Document

PREFIX = "__label__"


class Label:
    """The label with the highest score. Each worker loads the model once."""

    VERSION: ClassVar[int] = 1
    COLUMNS: ClassVar[dict[str, str]] = {"label": "string", "label_score": "float32"}

    def __init__(self, model: str) -> None:
        """`model` is the path of a model of fastText, relative to where the command runs."""
        self._model = fasttext.load_model(model)

    def __call__(self, documents: list[Document]) -> dict[str, list[object]]:
        """Return a label and a score for each document. fastText reads one line of text."""
        found = [self._model.predict(" ".join(each.text.split())) for each in documents]
        return {
            "label": [names[0].removeprefix(PREFIX) if names else None for names, _ in found],
            "label_score": [float(scores[0]) if names else None for names, scores in found],
        }
