r"""Score documents as FineWeb-Edu does: a linear regression on an embedding of the text, from 0 to 5.

FineWeb-Edu embeds with Snowflake's arctic-embed-m and fits its head to 450,000 annotations of Llama 3. This example
has the same head on static embeddings (a vector for each token, averaged), which need no GPU and no PyTorch: replace
`embed` by your own sentence encoder. Fit a head to your own labels, JSON lines with `text` and `score`, and score
documents with it:

    python annotate_education.py --tokenizer tokenizer.json --vectors vectors.npy labelled.jsonl head.npy
    thresher annotate edu docs --with annotate_education:Education --version-of head.npy \
        -a tokenizer=tokenizer.json -a vectors=vectors.npy -a head=head.npy

Each document gets the columns `edu` and `edu_class`, as FineWeb-Edu has a score and its integer.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from thresher import Document

MAX_TOKENS = 512
RIDGE = 1.0
"""Weight of the squared length of the head against the squared errors."""
Vectors = npt.NDArray[np.float64]


class Encoder:
    """Static embeddings: the mean of the vectors of a text's first tokens, of length 1."""

    def __init__(self, tokenizer: str, vectors: str) -> None:
        """`vectors` is a NumPy file with a row for each token of `tokenizer`."""
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._vectors = np.load(vectors, mmap_mode="r")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each text. The row of a text does not depend on the others."""
        rows = np.zeros((len(texts), self._vectors.shape[1]))
        for row, encoded in zip(rows, self._tokenizer.encode_batch(list(texts)), strict=True):
            if encoded.ids:
                row[:] = self._vectors[encoded.ids].mean(axis=0, dtype=np.float64)
        unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return unit


def fit(encoder: Encoder, texts: Sequence[str], scores: Sequence[float]) -> Vectors:
    """Return the head that fits the scores best (ridge regression); its last number is the constant."""
    rows = np.column_stack([encoder.embed(texts), np.ones(len(texts))])
    penalty = RIDGE * np.eye(rows.shape[1])
    penalty[-1, -1] = 0
    head: Vectors = np.linalg.solve(rows.T @ rows + penalty, rows.T @ np.array(scores))
    return head


class Education:
    """The regressor. Each worker loads its files once."""

    VERSION: ClassVar[int] = 1
    COLUMNS: ClassVar[dict[str, str]] = {"edu": "float32", "edu_class": "int8"}

    def __init__(self, tokenizer: str, vectors: str, head: str) -> None:
        """Load the encoder and the head."""
        self._encoder = Encoder(tokenizer, vectors)
        self._head = np.load(head)

    def __call__(self, documents: list[Document]) -> dict[str, Any]:
        """Return a score and its class for each document."""
        rows = self._encoder.embed([each.text for each in documents])
        # One row after the other: a product of matrices may round by the number of rows.
        scores = np.array([row @ self._head[:-1] + self._head[-1] for row in rows])
        return {"edu": scores, "edu_class": np.clip(np.rint(scores), 0, 5).astype(np.int8)}


def main() -> None:
    """Fit a head to labelled texts, and write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labelled", type=Path)
    parser.add_argument("head", type=Path)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--vectors", required=True)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.labelled.read_text(encoding="utf-8").splitlines()]
    encoder = Encoder(args.tokenizer, args.vectors)
    texts, scores = [row["text"] for row in rows], [float(row["score"]) for row in rows]
    head = fit(encoder, texts, scores)
    np.save(args.head, head)
    errors = np.column_stack([encoder.embed(texts), np.ones(len(texts))]) @ head - scores
    print(f"{args.head}: {len(rows)} texts, mean error {np.abs(errors).mean():.3f} on these texts themselves")


if __name__ == "__main__":
    main()
