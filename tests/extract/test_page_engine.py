"""Other libraries extract the text of pages: the text is what the library gives, and the page's facts are not lost."""

import importlib.metadata
import io
import json
import tarfile

import pytest
import zstandard
from resiliparse.extract.html2text import extract_plain_text
from trafilatura import extract as trafilatura_extract
from trafilatura.deduplication import LRU_TEST

from tests.shared import read_tar_file, shared_file
from thresher.core import InputError
from thresher.extract import Skip
from thresher.extract.charset import decode
from thresher.extract.engines.page_engine import engine_version, load_engine, require_engine
from thresher.extract.html import EXTRACTOR, extract

DAY = "2024-05-06"
URL = "https://example.org/a"
SENTENCES = "The wind had turned to the north, and three ships had passed the light before noon."
PAGE = f"""<html lang="en"><head><title>The Light | Example</title><meta name="robots" content="noai">
<meta name="author" content="Anna Keeper"><meta property="article:published_time" content="2023-02-01"></head><body>
<nav><a href="/">Home</a> <a href="/b">Books</a></nav><article><h1>The Light</h1>
{"".join(f"<p>In chapter {n}: {SENTENCES}</p>" for n in range(9))}</article>
<div id="comments"><p>Nice text, said a reader.</p></div><footer>Imprint</footer></body></html>"""


def datatrove(html):
    """What datatrove's `Trafilatura` calls, in a process that has seen no other page."""
    LRU_TEST.clear()
    return trafilatura_extract(html, favor_precision=True, include_comments=False, deduplicate=True)


def nemo(html):
    """What NeMo Curator's ResiliparseExtractor calls."""
    return extract_plain_text(html, main_content=True, alt_texts=False)


DIRECT = {"trafilatura": datatrove, "resiliparse": nemo}


def read(html, name, *, day=DAY, markdown=False):
    found = extract(html, URL, engine=load_engine(name), day=day, markdown=markdown)
    assert not isinstance(found, Skip), found
    return found


@pytest.mark.parametrize("name", DIRECT)
def test_the_text_is_that_of_the_library(name):
    found = read(PAGE, name)
    assert found.text == DIRECT[name](PAGE)
    assert "In chapter 8" in found.text
    assert found.extractor == engine_version(name)
    assert found.extractor.startswith(f"{name}@{importlib.metadata.version(name)}")


def test_our_own_extraction_is_no_engine():
    assert load_engine("thresher") is None
    found = extract(PAGE, URL)
    assert not isinstance(found, Skip)
    assert found.extractor == EXTRACTOR


@pytest.mark.parametrize("name", DIRECT)
def test_what_the_page_says_of_itself_is_kept(name):
    found = read(PAGE, name)
    assert (found.author, found.date, found.declared_language) == ("Anna Keeper", "2023-02-01", "en")
    assert found.title.startswith("The Light")
    assert ("robots", "noai") in found.metas


def test_a_text_does_not_depend_on_the_pages_before_it():
    first = read(PAGE, "trafilatura").text
    assert [read(PAGE, "trafilatura").text for _ in range(4)] == [first] * 4


def test_a_date_after_the_fetch_is_none():
    page = PAGE.replace("2023-02-01", "2024-05-07")
    assert read(page, "trafilatura", day="2024-05-08").date == "2024-05-07"
    without = page.replace('property="article:published_time"', 'name="unknown"').replace("2024-05-07", "")
    dated = without.replace("<h1>", "<time datetime='2024-05-07'>7 May 2024</time><h1>")
    engine = load_engine("trafilatura")
    assert engine is not None
    assert engine.facts(dated, URL, "2024-05-08").date == "2024-05-07"
    assert engine.facts(dated, URL, "2024-05-06").date != "2024-05-07"


def test_trafilatura_writes_markdown():
    assert "# The Light" in read(PAGE, "trafilatura", markdown=True).text


@pytest.mark.parametrize("name", DIRECT)
def test_a_page_without_text_has_none(name):
    found = extract("<html><body></body></html>", URL, engine=load_engine(name), day=DAY)
    assert found == Skip(reason="no_text")


@pytest.mark.parametrize("name", DIRECT)
def test_a_page_beyond_the_bounds_never_reaches_the_library(name):
    found = extract("<p>" + "x" * 10_000_001, URL, engine=load_engine(name), day=DAY)
    assert found == Skip(reason="too_large")


def test_without_its_package_there_is_one_line(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(InputError, match=r"needs the package .*install the extra 'extract-trafilatura'"):
        engine_version("trafilatura")


def test_a_node_with_another_version_makes_nothing():
    require_engine("resiliparse", [engine_version("resiliparse"), EXTRACTOR])
    require_engine("thresher", [EXTRACTOR])
    with pytest.raises(InputError, match=r"a worker has resiliparse@.* the run began with resiliparse@0"):
        require_engine("resiliparse", ["resiliparse@0", EXTRACTOR])


@pytest.fixture(scope="module")
def sample():
    with shared_file("extraction/gold.jsonl.zst").open("rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8")
        names = sorted({json.loads(line)["html"] for line in lines})[::80]
    with shared_file("extraction/pages.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as pages:
            return [
                decode(read_tar_file(pages, member), None).text
                for member in pages
                if member.name.removeprefix("./") in names
            ]


@pytest.mark.shared
@pytest.mark.parametrize("name", DIRECT)
def test_the_text_of_real_pages_is_that_of_the_library_in_any_order(sample, name):
    found = [extract(html, URL, engine=load_engine(name), day=DAY) for html in sample]
    direct = [DIRECT[name](html.replace("\0", "")) or "" for html in reversed(sample)][::-1]
    assert len(sample) > 30
    assert ["" if isinstance(one, Skip) else one.text for one in found] == [
        text if text.strip() else "" for text in direct
    ]
