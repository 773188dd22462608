"""A fastText model is used only if it is whole and its sizes fit: the library itself checks nothing."""

import struct

import pytest

from thresher.filters.models.fasttext_layout import CENTROIDS, labels
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier

HEADER = struct.Struct("<2i12id3iqq")
PLACES = {
    "dimensions": 2,
    "loss": 8,
    "kind": 9,
    "buckets": 10,
    "size": 15,
    "words": 16,
    "labels": 17,
    "pruned": 19,
}


@pytest.fixture(scope="module")
def model() -> bytes:
    examples = [
        (label, f"{label} text {n} of the {n * 7} examples") for n in range(30) for label in ("a", "b")
    ]
    return train_classifier(examples, TrainingOptions(dimensions=4, buckets=50, epochs=1))


def quantized(model: bytes) -> bytes:
    """Return a model of the same dictionary with quantized input, in two parts of two columns, with norms."""
    header = HEADER.unpack_from(model)
    rows, columns = header[16] + header[10], header[2]
    output = struct.pack("<?qq", False, header[17], columns) + bytes(4 * header[17] * columns)
    dictionary = model[: model.index(struct.pack("<?qq", False, rows, columns))]
    codes = struct.pack("<?qqi", True, rows, columns, 2 * rows) + bytes(2 * rows)
    quantizer = struct.pack("<4i", columns, 2, columns // 2, columns // 2) + bytes(4 * columns * CENTROIDS)
    norms = bytes(rows) + struct.pack("<4i", 1, 1, 1, 1) + bytes(4 * CENTROIDS)
    return dictionary + b"\1" + codes + quantizer + norms + output


def test_a_whole_model_has_its_labels(model: bytes):
    assert sorted(labels(model)) == ["a", "b"]
    assert sorted(labels(quantized(model))) == ["a", "b"]


def test_a_model_that_is_cut_off_anywhere_is_refused(model: bytes):
    for whole in (model, quantized(model)):
        for length in [*range(4, HEADER.size), *range(HEADER.size, len(whole), 97), len(whole) - 1]:
            with pytest.raises(ValueError, match="cut off"):
                labels(whole[:length])


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("value", [-(2**31), -1, 0, 7_777, 2**31 - 1])
def test_a_size_that_contradicts_the_others_is_refused(model: bytes, name: str, value: int):
    if (name, value) in {("pruned", -1), ("pruned", -(2**31))}:
        pytest.skip("a negative number says that nothing was pruned")
    header = list(HEADER.unpack_from(model))
    header[PLACES[name]] = value
    with pytest.raises(ValueError, match=r"damaged|cut off|no classifier"):
        labels(HEADER.pack(*header) + model[HEADER.size :])


def test_codes_that_do_not_fit_their_matrix_are_refused(model: bytes):
    whole = quantized(model)
    header = HEADER.unpack_from(whole)
    rows = header[16] + header[10]
    codes = struct.pack("<?qqi", True, rows, header[2], 2 * rows)
    for wrong in (
        struct.pack("<?qqi", True, rows, header[2], -1),
        struct.pack("<?qqi", True, rows, 1, 2 * rows),
    ):
        with pytest.raises(ValueError, match="damaged"):
            labels(whole.replace(codes, wrong, 1))
