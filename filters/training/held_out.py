"""Hold texts back from training, and measure a model on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

SPLIT_VERSION = 1
_PARTS = 1000


def is_held_out(text: str, share: float) -> bool:
    """Return whether a text is held out. It follows from the text alone, so equal texts are never on both sides."""
    return (
        xxhash.xxh3_64_intdigest(text.encode(errors="surrogatepass"), SPLIT_VERSION) % _PARTS < share * _PARTS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well scores tell good texts from bad ones."""

    texts: int
    good: int
    auc: float
    """Probability that a good text has a higher score than a bad one; ties count half."""
    precision: float
    """Share of good texts among those with a score of at least `threshold`."""
    recall: float
    """Share of the good texts that have such a score."""
    threshold: float


def quality(scores: Sequence[float], is_good: Sequence[bool], threshold: float) -> Quality:
    """Return the quality of scores. Values that nothing defines, because there are no such texts, are 0."""
    values, good = np.asarray(scores, np.float64), np.asarray(is_good, np.bool_)
    kept = values >= threshold
    right = int((kept & good).sum())
    return Quality(
        texts=len(values),
        good=int(good.sum()),
        auc=auc(values, good),
        precision=right / max(int(kept.sum()), 1),
        recall=right / max(int(good.sum()), 1),
        threshold=threshold,
    )


def auc(scores: npt.NDArray[np.float64], good: npt.NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve (the Mann-Whitney statistic); 0 if all texts are good, or all bad."""
    positives = int(good.sum())
    negatives = len(good) - positives
    if not positives or not negatives:
        return 0.0
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[good].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def confusion(found: Sequence[str], labels: Sequence[str]) -> dict[str, tuple[int, float, float]]:
    """Return, for each label, how many texts have it, and the precision and recall with which it was found."""
    rows = {}
    for label in sorted(set(labels)):
        right = sum(a == b == label for a, b in zip(found, labels, strict=True))
        named, real = sum(each == label for each in found), sum(each == label for each in labels)
        rows[label] = (real, right / max(named, 1), right / max(real, 1))
    return rows
