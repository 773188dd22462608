"""A page that was extracted is freed at once, because runs of the garbage collector took a sixth of the CPU time."""

import gc

import pytest

from tests.expect import expect
from thresher.extract.html import extract
from thresher.extract.page.boxes import MAX_ELEMENTS, Box, ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.pipeline.steps.records.rare_collection import THRESHOLD, rare_collection

PAGE = (
    "<html><head><title>Rain in the hills</title></head><body><main><h1>Rain in the hills</h1>"
    + "<p>It rained for nine days, and the river rose, until the old bridge was under water.</p>" * 9
    + "<table><tr><td>Day</td><td>Rain</td></tr><tr><td>1</td><td>30 mm</td></tr></table></main></body></html>"
)


def boxes() -> int:
    return sum(isinstance(each, Box) for each in gc.get_objects())


@pytest.mark.parametrize("markdown", [False, True])
def test_no_box_of_a_page_is_left_for_the_garbage_collector(markdown):
    gc.collect()
    before = boxes()
    gc.disable()
    try:
        extract(PAGE, "https://example.org/rain", markdown=markdown)
        assert boxes() == before
    finally:
        gc.enable()


@pytest.mark.parametrize("is_collecting", [True, False])
def test_extraction_leaves_the_collector_as_it_was(is_collecting):
    (gc.enable if is_collecting else gc.disable)()
    try:
        extract(PAGE, "https://example.org/rain")
        assert gc.isenabled() is is_collecting
    finally:
        gc.enable()


@pytest.mark.parametrize("broken", [b"", b"<p>" * (MAX_ELEMENTS + 1), b"<div><b><pre><math><mi>"])
def test_a_page_is_read_alike_after_any_other(broken):
    def texts() -> list[str]:
        page = expect(ParsedPage, read_page(PAGE.encode()))
        return [repr(block) for block in page.blocks]

    first = texts()
    read_page(broken)
    assert texts() == first


def test_rare_collection_restores_the_thresholds_after_an_error():
    before = gc.get_threshold()
    seen = []

    def fail() -> None:
        with rare_collection():
            seen.append(gc.get_threshold()[0])
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fail()
    assert seen == [THRESHOLD]
    assert gc.get_threshold() == before
