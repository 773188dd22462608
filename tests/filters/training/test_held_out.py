"""What a model is measured with: the split follows from the text, and the measures are those of the textbooks."""

import numpy as np
import pytest

from thresher.filters.training.held_out import auc, confusion, is_held_out, quality


def test_a_split_follows_from_the_text_alone_and_has_its_size():
    texts = [f"text {number}" for number in range(5000)]
    held = [text for text in texts if is_held_out(text, 0.1)]
    assert len(held) == pytest.approx(500, rel=0.2)
    assert {*held} <= {text for text in texts if is_held_out(text, 0.2)}
    assert not any(is_held_out(text, 0) for text in texts)


@pytest.mark.parametrize(
    ("scores", "good", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], 1.0),
        ([0.9, 0.8, 0.2, 0.1], [0, 0, 1, 1], 0.0),
        ([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1], 0.5),
        ([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.75),
        ([0.3, 0.4], [1, 1], 0.0),
    ],
)
def test_auc_is_the_share_of_pairs_in_the_right_order(scores: list[float], good: list[int], expected: float):
    assert auc(np.array(scores), np.array(good, bool)) == expected


def test_precision_and_recall_at_a_threshold():
    found = quality([0.2, 0.6, 0.7, 0.9], [True, False, True, True], 0.5)
    assert (found.precision, found.recall, found.texts, found.good) == (2 / 3, 2 / 3, 4, 3)


def test_each_label_has_its_own_precision_and_recall():
    rows = confusion(["de", "de", "nl", "en"], ["de", "nl", "nl", "nl"])
    assert rows == {"de": (1, 0.5, 1.0), "nl": (3, 1.0, 1 / 3)}
