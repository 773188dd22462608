"""Notes on URLs: what one visit leaves for the next."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from crawler.reading import redirect_chain
from crawler.reading.request_state import (
    EMPTY_STATE,
    LONGEST_COOKIES,
    LONGEST_FIELD,
    RequestState,
    decode_state,
    encode_state,
)
from frontier.lease import LONGEST_NOTE

words = st.text(st.characters(codec="utf-8"), max_size=300)
notes = st.builds(
    RequestState,
    kind=st.sampled_from(["page", "sitemap", "seeds"]),
    level=st.integers(0, 9),
    modified_ms=st.integers(0, 10**14),
    etag=words,
    last_modified=words,
    digest=words,
    record_id=words,
    uri=words,
    date_ms=st.integers(0, 10**14),
    chain=st.binary(max_size=redirect_chain.MAX_EXCHANGES * redirect_chain.BYTES),
    cookies=st.lists(st.just(("http://a.example/", "a=b; Path=/")), max_size=3).map(tuple),
)


@given(notes)
def test_what_is_noted_is_read_again_and_fits(note):
    written = encode_state(note)
    assert len(written) <= LONGEST_NOTE
    assert decode_state(written) == note or len(written) == 2


def test_of_a_page_of_which_nothing_is_known_nothing_is_noted():
    assert encode_state(EMPTY_STATE) == b""
    assert decode_state(b"") == EMPTY_STATE


def test_a_field_that_is_too_long_is_left_out_whole():
    note = RequestState(kind="sitemap", etag="x" * (LONGEST_FIELD + 1), digest="sha1:A")
    assert decode_state(encode_state(note)) == replace(note, etag="")


def test_of_cookies_the_newest_are_kept_and_none_is_cut():
    cookies = tuple((f"http://a.example/{n}", f"c{n}={'x' * 500}") for n in range(9))
    kept = decode_state(encode_state(RequestState(cookies=cookies))).cookies
    assert kept == cookies[-len(kept) :]
    assert len(kept) == LONGEST_COOKIES // 530
    assert decode_state(encode_state(RequestState(cookies=(("http://a.example/", "a=\nb"),)))) == EMPTY_STATE


@given(st.binary(max_size=50))
def test_no_bytes_break_it(written):
    decode_state(written)
    decode_state(b"\x01\x01" + written)


def test_fields_and_versions_that_are_not_known_say_nothing():
    assert decode_state(encode_state(RequestState(kind="sitemap", level=2)) + b"?\0\1x") == RequestState(
        kind="sitemap", level=2
    )
    assert decode_state(b"\x02" + encode_state(RequestState(kind="sitemap"))[1:]) == EMPTY_STATE
