"""trafilatura, with the options of FineWeb's recipe: datatrove's `pipeline/extractors/trafilatura.py` (0.10.1) calls
`extract(html, favor_precision=True, include_comments=False, deduplicate=True)`.

Two things differ from datatrove, because the same page must give the same text:

1. `deduplicate` removes what a process has seen before, on other pages too. Here the memory is emptied before each
   page, so a segment is only compared with those of its own page.
2. datatrove ends a page after one second. Here the limits of the worker process apply.

Dates are those that the markup states, until the day of the fetch. By default, htmldate accepts them until today, and
guesses a date from any text of the page, which takes as long as the extraction.
"""

import logging

from trafilatura import extract, extract_metadata
from trafilatura.deduplication import LRU_TEST

from thresher.extract.engines.page_engine import EngineFacts

for _name in ("trafilatura", "htmldate", "courlan", "charset_normalizer"):
    # Each page without a text or a date would be a warning in the log of the run.
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


def text(html: str, markdown: bool) -> str:
    """Return the text of a page."""
    LRU_TEST.clear()
    found = extract(
        html,
        favor_precision=True,
        include_comments=False,
        deduplicate=True,
        output_format="markdown" if markdown else "txt",
    )
    return found or ""


def facts(html: str, url: str, day: str) -> EngineFacts:
    """Return title, authors and date of a page."""
    date = {"original_date": True, "extensive_search": False, "max_date": day}
    found = extract_metadata(html, default_url=url, date_config=date)
    if found is None:
        return EngineFacts()
    return EngineFacts(title=found.title or "", author=found.author or "", date=found.date or "")
