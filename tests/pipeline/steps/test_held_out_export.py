"""What is held out of an export is in the other one, and nothing is in both."""

from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.pipeline.steps.made_exports import (  # noqa: F401 - fixtures are imported by name
    KEPT,
    dataset_of,
    exported,
    processed,
)
from thresher.core import InputError
from thresher.pipeline.steps.export_plan import _domain
from thresher.pipeline.steps.options.export_options import chosen_options
from thresher.shards.held_out_split import HeldOut

TEXTS = {"tokenizer": "none", "formats": ("parquet",)}


def rows_of(out):
    return [row for path in sorted(out.glob("data/*.parquet")) for row in pq.read_table(path).to_pylist()]


def test_two_exports_divide_the_documents_by_their_url(exported):
    sides = {
        split: rows_of(exported(split, **TEXTS, held_out=HeldOut(share=0.3, by="url", split=split)))
        for split in ("train", "held-out")
    }
    ids = {split: {row["id"] for row in rows} for split, rows in sides.items()}
    assert not ids["train"] & ids["held-out"]
    assert sum(map(len, sides.values())) == KEPT
    assert 0.1 * KEPT < len(sides["held-out"]) < 0.5 * KEPT


def test_documents_of_one_domain_are_on_one_side(exported):
    """All rows with a URL are of example.org; the others are on a side by their place in a file."""
    sides = []
    for split in ("train", "held-out"):
        out = exported(split, **TEXTS, held_out=HeldOut(share=0.5, split=split))
        assert dataset_of(out).recipe["held_out"] == {"share": 0.5, "by": "domain", "split": split}
        sides.append({_domain(row["url"]) for row in rows_of(out)})
    assert not sides[0] & sides[1]
    assert "example.org" in sides[0] | sides[1]


def test_a_side_without_documents_is_refused(exported):
    with pytest.raises(
        InputError, match="--held-out 1e-06: no document is on the side 'held-out'; give another share"
    ):
        exported(**TEXTS, held_out=HeldOut(share=1e-6, split="held-out"))


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.b.example.co.uk:8080/x", "example.co.uk"),
        ("http://user:word@www.example.org", "example.org"),
        ("http://192.0.2.7/x//y", "192.0.2.7"),
        ("file:rows.jsonl#line=7", "file:rows.jsonl#line=7"),
    ],
)
def test_the_domain_of_a_url_is_what_somebody_registered(url, domain):
    assert _domain(url) == domain


def test_a_split_needs_a_share():
    options: dict[str, Any] = {
        "formats": ("parquet",), "shard_size": None, "eos": None, "bos": None, "special_tokens": None, "id_type": None, "text": True,
        "pack": None, "packing": None, "mix": None, "verdicts": "", "columns": "",
        "held_out": None, "held_out_by": None, "split": None,
    }  # fmt: skip
    with pytest.raises(InputError, match="--split held-out: say with --held-out which share"):
        chosen_options(**(options | {"split": "held-out"}))
    with pytest.raises(InputError, match="split: 'test' is not known; choose from train, held-out"):
        chosen_options(**(options | {"held_out": "1%", "split": "test"}))
    assert chosen_options(**(options | {"held_out": "1%"})).held_out == HeldOut(share=0.01)
