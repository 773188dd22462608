"""The guide on sizing has the table that its arithmetic gives, and the arithmetic has the figures that were measured."""

import re

import pytest

from bench.pipeline import sizing
from tests.deploy.programs import ROOT

GUIDE = (ROOT / "docs/guides/sizing.md").read_text()
RESULTS = (ROOT / "bench/RESULTS.md").read_text()


def test_the_table_of_the_guide_is_the_one_that_the_figures_give():
    assert sizing.table() in GUIDE


@pytest.mark.parametrize(
    ("figure", "measured"),
    [
        (sizing.CRAWLED_A_CORE, r"CPU ms a page, (\d+) pages/s a core, 429 on the wall"),
        (sizing.PROCESSED_A_CORE, r"documents/s a core, WARC to verdicts, signatures and tables \| (\d+)"),
        (sizing.EXPORTED_A_CORE, r"tokens and ([\d,]+) documents a second a core; a worker 590 MB"),
        (sizing.WARC_BYTES, r"manifests \| ([\d,]+);"),
        (sizing.SETTLED_A_CORE, r"a second of server CPU \| [^|]* \| ([\d,]+)"),
        (sizing.DEDUP_US, r"made up, 5,000,000 documents[^|]* \| [^|]*, (\d+) us a document"),
        (sizing.INDEX_BYTES, r"made up, 5,000,000 documents[^|]* \|[^|]* index ([\d,]+) bytes"),
        (sizing.LINK_US, r"found again, links of pages; scattered \| [^|]* \| ([\d.]+);"),
    ],
)
def test_a_figure_is_the_measured_one(figure, measured):
    found = re.search(measured, RESULTS)
    assert found, measured
    assert float(found[1].replace(",", "")) == figure


def test_the_rest_of_a_page_is_the_sum_of_what_was_measured():
    found = re.search(r"manifests \| [\d,]+; ([\d, ]+) \|", RESULTS)
    assert found
    assert sum(int(part.replace(",", "")) for part in found[1].split(", ")) == sizing.REST_BYTES
    assert f"{sizing.REST_BYTES:,} bytes" in GUIDE


def test_the_frontier_follows_the_formula_of_the_guide():
    formula = re.search(
        r"memory = ([\d.]+) x \(hosts x (\d+) B \+ seen x ([\d.]+) B \+ .* x (\d+) B \+ .* x ([\d.]+) B\)",
        GUIDE,
    )
    assert formula
    stated = (sizing.OVERHEAD, sizing.HOST_BYTES, sizing.SEEN_BYTES, sizing.HOT_BYTES, sizing.TAIL_BYTES)
    assert tuple(map(float, formula.groups())) == stated
