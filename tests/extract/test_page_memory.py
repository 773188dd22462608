"""A page that was extracted is freed at once, because runs of the garbage collector took a sixth of the CPU time."""

import gc

import pytest

from extract.html import extract
from extract.page.boxes import Box

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
