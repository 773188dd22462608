"""Train a model, measure it on texts that were held back, and store it with what it was made from.

A file with the same name and `.json` describes it: its digest, the parameters, digests of the texts, and the measures.
"""

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thresher.core import InputError
from thresher.filters.signals.fasttext_file import load_classifier, load_predictor
from thresher.filters.signals.kenlm_file import load_pieces, load_scorer
from thresher.filters.signals.perplexity import (
    model_lines,
    normalized_lines,
    perplexity,
    piece_lines,
    piece_perplexity,
)
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.filters.training.held_out import confusion, is_held_out, quality
from thresher.filters.training.kneser_ney import train_perplexity
from thresher.filters.training.piece_training import train_pieces
from thresher.pipeline.training.model_files import write_model
from thresher.pipeline.training.text_sources import Example

GOOD, BAD = "good", "bad"
MIN_TEXTS = 10
"""Texts of a label to train on: fewer say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A stored model."""

    path: str
    bytes: int
    sha256: str
    trained: int
    """Texts that it was trained on."""
    held_out: int
    measures: dict[str, Any]


def train_quality(
    good: Sequence[Example], bad: Sequence[Example], out: Path, share: float, options: TrainingOptions
) -> TrainedModel:
    """Train a classifier of good and bad texts. Raise `InputError` if a side has too few texts."""
    labelled, ambiguous = _unambiguous(
        Example(text=each.text, label=label) for label, side in ((GOOD, good), (BAD, bad)) for each in side
    )
    train, held = _split(labelled, share)
    _require_labels(train, (GOOD, BAD), ambiguous)
    data = _trained(train, options)
    classify = load_classifier(data)
    scores = [classify(each.text, GOOD) for each in held]
    is_good = [each.label == GOOD for each in held]
    half = quality(scores, is_good, 0.5)
    measures = {**asdict(half), "ambiguous": ambiguous}
    recipe = {"model": "quality", **options.recipe}
    return _stored(out, data, recipe, (train, held), measures)


def _trained(train: Sequence[Example], options: TrainingOptions) -> bytes:
    try:
        return train_classifier(((each.label, each.text) for each in train), options)
    except ValueError as error:
        raise InputError(str(error)) from None


def train_language(
    labelled: Sequence[Example], out: Path, share: float, options: TrainingOptions
) -> TrainedModel:
    """Train a classifier of languages, or of any other labels. Raise `InputError` if a label has too few texts."""
    names = sorted({each.label for each in labelled})
    if len(names) < 2:
        raise InputError(
            f"texts of at least two languages are needed; all have the label {', '.join(names) or 'none'}"
        )
    clear, ambiguous = _unambiguous(labelled)
    train, held = _split(clear, share)
    _require_labels(train, names, ambiguous)
    data = _trained(train, options)
    predict = load_predictor(data)
    rows = confusion([predict(each.text)[0] for each in held], [each.label for each in held])
    right = sum(count * recall for count, _, recall in rows.values())
    measures = {
        "accuracy": right / max(len(held), 1),
        "macro_f1": float(
            np.mean([2 * p * r / (p + r) if p + r else 0.0 for _, p, r in rows.values()] or [0.0])
        ),
        "ambiguous": ambiguous,
        "labels": {name: {"texts": n, "precision": p, "recall": r} for name, (n, p, r) in rows.items()},
    }
    return _stored(out, data, {"model": "lid", **options.recipe}, (train, held), measures)


def train_language_model(
    corpus: Sequence[Example], out: Path, share: float, order: int, pieces: bytes | None = None
) -> TrainedModel:
    """Train an n-gram model of words, or of the pieces that the SentencePiece model `pieces` makes.

    Raise `InputError` if the corpus has no words, or more than memory should hold, or if `pieces` is no model.
    """
    train, held = _split_corpus(corpus, share)
    split = None if pieces is None else _loaded_pieces(pieces)
    lines = (
        line
        for each in train
        for line in (piece_lines(each.text, split) if split else model_lines(each.text))
    )
    target = io.BytesIO()
    try:
        sizes = train_perplexity(lines, order, target)
    except ValueError as error:
        raise InputError(f"the corpus cannot be used: {error}") from None
    data = target.getvalue()
    score = load_scorer(data)
    found = (
        piece_perplexity(score, split, each.text) if split else perplexity(score, each.text) for each in held
    )
    values = sorted(value for value in found if value is not None)
    measures: dict[str, Any] = dict(sizes)
    if values:
        third, median, two_thirds = np.quantile(values, [1 / 3, 0.5, 2 / 3]).tolist()
        measures |= {"median": median, "head_ends": third, "middle_ends": two_thirds}
    recipe = {"model": "perplexity", "order": order}
    if pieces is not None:
        recipe["pieces"] = hashlib.sha256(pieces).hexdigest()
    return _stored(out, data, recipe, (train, held), measures)


def train_piece_model(corpus: Sequence[Example], out: Path, share: float, size: int) -> TrainedModel:
    """Train a SentencePiece model. Raise `InputError` if the corpus cannot be used."""
    train, held = _split_corpus(corpus, share)
    try:
        data = train_pieces((line for each in train for line in normalized_lines(each.text)), size)
    except ValueError as error:
        raise InputError(f"the corpus cannot be used: {error}") from None
    pieces = load_pieces(data)
    counts = [(len(line), len(pieces(line))) for each in held for line in normalized_lines(each.text)]
    characters, count = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
    measures = {"characters_per_piece": characters / count} if count else {}
    return _stored(out, data, {"model": "pieces", "size": size}, (train, held), measures)


def _loaded_pieces(data: bytes) -> Callable[[str], list[str]]:
    try:
        return load_pieces(data)
    except ValueError as error:
        raise InputError(f"--pieces: {error}") from None


def _split_corpus(corpus: Sequence[Example], share: float) -> tuple[list[Example], list[Example]]:
    train, held = _split(corpus, share)
    if not train:
        raise InputError(f"all {len(held)} texts are held out; give more texts, or hold back a smaller share")
    return train, held


def _split(examples: Iterable[Example], share: float) -> tuple[list[Example], list[Example]]:
    train: list[Example] = []
    held: list[Example] = []
    for each in examples:
        (held if is_held_out(each.text, share) else train).append(each)
    return train, held


def _unambiguous(examples: Iterable[Example]) -> tuple[list[Example], int]:
    """Return the examples whose text has one label, and the number of texts that have several."""
    every = list(examples)
    labels: dict[str, set[str]] = {}
    for each in every:
        labels.setdefault(each.text, set()).add(each.label)
    clear = [each for each in every if len(labels[each.text]) == 1]
    return clear, sum(len(found) > 1 for found in labels.values())


def _require_labels(train: Sequence[Example], names: Iterable[str], ambiguous: int) -> None:
    counts = Counter(each.label for each in train)
    for name in names:
        if counts[name] < MIN_TEXTS:
            also = f" ({ambiguous} texts have several labels and are left out)" if ambiguous else ""
            raise InputError(
                f"{counts[name]} texts of {name!r} to train on{also}; at least {MIN_TEXTS} are needed besides those"
                " that are held out"
            )


def _stored(
    out: Path,
    data: bytes,
    recipe: dict[str, Any],
    texts: tuple[Sequence[Example], Sequence[Example]],
    measures: dict[str, Any],
) -> TrainedModel:
    digest = hashlib.sha256(data).hexdigest()
    train, held = texts
    body = {
        "sha256": digest,
        "recipe": recipe,
        "trained": {"texts": len(train), "sha256": _digest(train)},
        "held_out": {"texts": len(held), "sha256": _digest(held)},
        "measures": measures,
    }
    text = json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_model(out, data, text.encode())
    return TrainedModel(
        path=str(out),
        bytes=len(data),
        sha256=digest,
        trained=len(train),
        held_out=len(held),
        measures=measures,
    )


def _digest(examples: Iterable[Example]) -> str:
    """Return a digest of texts and labels whatever their order."""
    each = sorted(
        hashlib.sha256(f"{e.label}\0{e.text}".encode(errors="surrogatepass")).digest() for e in examples
    )
    return hashlib.sha256(b"".join(each)).hexdigest()
