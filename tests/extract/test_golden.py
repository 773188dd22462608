"""Pages of every sort, written for this, and the text that is to be made of them: `tests/golden/html`."""

from pathlib import Path

import pytest

from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "html"
PAGES = sorted(GOLDEN.glob("*.html"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.parametrize(("suffix", "markdown"), [(".txt", False), (".md", True)])
def test_a_page_gives_this_text(page, suffix, markdown):
    found = extract(page.read_text("utf-8"), f"https://example.org/{page.stem}", markdown=markdown)
    assert isinstance(found, Extraction)
    assert found.text + "\n" == page.with_suffix(suffix).read_text("utf-8")


def test_every_text_has_its_page():
    assert {path.stem for path in GOLDEN.iterdir()} == {page.stem for page in PAGES}
    assert len(PAGES) >= 15
