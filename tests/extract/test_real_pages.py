"""Real pages with a main text chosen by hand: the text is found, and is the same in any order and any process."""

import io
import json
import multiprocessing
import re
import tarfile
from collections import Counter
from statistics import fmean

import pytest
import zstandard

from tests.shared import read_tar_file, shared_file
from thresher.extract.charset import decode
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

pytestmark = pytest.mark.shared

EVERY = 20
FLOOR = 0.90
"""F1 of words, mean over the pages of the sample; 0.93 over all of them."""
_TOKEN = re.compile(r"[^\W_]+")


@pytest.fixture(scope="module")
def sample():
    """Characters and wanted text of each page."""
    with shared_file("extraction/gold.jsonl.zst").open("rb") as file:
        rows = list(
            map(json.loads, io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8"))
        )
    rows = [row for row in rows if row["kind"] == "full_text" and row["gold_text"]]
    rows.sort(key=lambda row: row["id"])
    wanted = {row["html"]: row for row in rows[::EVERY]}
    found = []
    with shared_file("extraction/pages.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as pages:
            for member in pages:
                row = wanted.get(member.name.removeprefix("./"))
                if row is not None:
                    html = decode(read_tar_file(pages, member), None).text
                    found.append((html, row["url"] or "http://example.org/", row["gold_text"]))
    assert len(found) == len(wanted)
    return found


@pytest.fixture(scope="module")
def texts(sample):
    return [_text(html, url) for html, url, _ in sample]


def test_the_words_that_people_chose_are_found(sample, texts):
    scores = [_f1(text, wanted) for text, (_, _, wanted) in zip(texts, sample, strict=True)]
    assert len(scores) > 50
    assert fmean(scores) > FLOOR


def test_the_same_bytes_in_the_other_order(sample, texts):
    assert [_text(html, url) for html, url, _ in reversed(sample)] == texts[::-1]


def test_the_same_bytes_in_another_process(sample, texts):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap(_text, [(html, url) for html, url, _ in sample]) == texts


def _text(html, url):
    found = extract(html, url)
    return found.text if isinstance(found, Extraction) else ""


def _f1(text, wanted):
    """Of words as a bag: twice those in common by those of both."""
    have, want = (Counter(_TOKEN.findall(each.lower())) for each in (text, wanted))
    return 2 * (have & want).total() / max(1, have.total() + want.total())
