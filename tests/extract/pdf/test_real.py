"""The 706 PDFs of the shared material: bug reports of browsers for the most part. None hangs, none takes its process
down.
"""

import io
import json
import multiprocessing
import re
import statistics
import tarfile
import unicodedata
from collections import Counter

import pytest
import zstandard

from tests.shared import read_tar_file, shared_file
from thresher.extract import Skip
from thresher.extract.pdf import extract

pytestmark = [pytest.mark.shared, pytest.mark.slow]

REASONS = {
    "not_pdf", "too_large", "too_complex", "encrypted", "broken_pdf", "truncated_pdf", "scanned_pdf", "garbled_pdf",
    "no_text",
}  # fmt: skip
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


def documents():
    with shared_file("pdf/pdfs.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if member.isfile():
                    yield member.name.removeprefix("./"), read_tar_file(tar, member)


def oracle():
    with shared_file("pdf/pdf-reference.jsonl.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file)
        for line in io.TextIOWrapper(stream, encoding="utf-8", newline="\n"):
            row = json.loads(line)
            yield row["file"], row["text"] or ""


def fate(document):
    name, payload = document
    found = extract(payload)
    return name, (found.reason, "") if isinstance(found, Skip) else (found.route, found.text)


def tokens(text):
    return TOKEN.findall(unicodedata.normalize("NFC", text).lower())


def agreement(found, wanted):
    """Harmonic mean of precision and recall of words, as in a bag."""
    one, other = Counter(tokens(found)), Counter(tokens(wanted))
    return 2 * (one & other).total() / max(1, one.total() + other.total())


def order(found, wanted):
    """Share of the runs of five words that are in both."""
    one, other = (set(zip(*(tokens(text)[n:] for n in range(5)), strict=False)) for text in (found, wanted))
    return len(one & other) / max(1, len(one | other))


@pytest.fixture(scope="module")
def fates():
    # A process that dies raises here: its pool is broken.
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(pool.map(fate, documents(), chunksize=32))


def test_each_is_read_or_skipped_with_its_reason(fates):
    assert len(fates) == 706
    counts = Counter(fate for fate, _ in fates.values())
    assert set(counts) <= REASONS | {"pdf", "pdf/partial"}
    assert counts["pdf"] + counts["pdf/partial"] >= 440
    assert counts["broken_pdf"] + counts["truncated_pdf"] <= 8


def test_their_text_is_that_of_another_library_where_it_has_some(fates):
    read = [(fates[name][1], text) for name, text in oracle() if len(text.strip()) > 200]
    assert len(read) == 85
    words = [agreement(found, text) for found, text in read]
    assert statistics.median(words) > 0.99
    assert statistics.mean(words) > 0.91
    in_order = [order(found, text) for found, text in read]
    assert statistics.median(in_order) > 0.85
    assert statistics.mean(in_order) > 0.72


def test_a_second_reading_gives_the_same(fates):
    some = [document for number, document in enumerate(documents()) if number % 20 == 0]
    assert all(fate(document) == (document[0], fates[document[0]]) for document in some)
