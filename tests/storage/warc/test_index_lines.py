"""Index lines wait compressed, and come out sorted."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from thresher.storage.warc import index_lines
from thresher.storage.warc.index_lines import CHUNK, IndexLines

TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=127, exclude_characters="\n"), max_size=8)


@given(st.lists(TEXT, max_size=40), st.integers(1, 9))
def test_lines_come_in_the_order_of_their_bytes_however_they_are_packed(found, chunk):
    before, index_lines.CHUNK = index_lines.CHUNK, chunk
    try:
        waiting = IndexLines(found)
        assert len(waiting) == len(found)
        assert list(waiting) == sorted(found)
        assert list(waiting) == sorted(found)  # as often as one likes
    finally:
        index_lines.CHUNK = before


def test_a_great_many_lines_take_a_fraction_of_what_they_are():
    many = 20 * CHUNK
    tracemalloc.start()
    try:
        waiting = IndexLines(
            f'org,example)/pages/{n * 7919 % many} 20260102030405 {{"url": "http://example.org/pages/{n}", "mime": "text/html", '
            f'"status": "200", "offset": "{n * 10_000}", "filename": "warc/main/main-0123456789abcdef-00000.warc.gz"}}'
            for n in range(many)
        )
        held, _ = tracemalloc.get_traced_memory()
        assert sum(1 for _ in waiting) == many
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < many * 50
    assert most < many * 120
