"""A request state is read from its bytes as it was written, and its bytes have a limit."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from thresher.frontier.request_state import (
    EMPTY_STATE,
    MAX_CHAIN_BYTES,
    MAX_COOKIE_BYTES,
    MAX_FIELD_BYTES,
    MAX_STATE_BYTES,
    RequestState,
    decode_state,
    encode_state,
)

words = st.text(st.characters(codec="utf-8"), max_size=300)
states = st.builds(
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
    chain=st.binary(max_size=MAX_CHAIN_BYTES),
    cookies=st.lists(st.just(("http://a.example/", "a=b; Path=/")), max_size=3).map(tuple),
)


@given(states)
def test_what_is_written_is_read_again_and_fits(state):
    written = encode_state(state)
    assert len(written) <= MAX_STATE_BYTES
    assert decode_state(written) == state or len(written) == 2


def test_of_a_page_of_which_nothing_is_known_nothing_is_written():
    assert encode_state(EMPTY_STATE) == b""
    assert decode_state(b"") == EMPTY_STATE


def test_a_field_that_is_too_long_is_left_out_whole():
    state = RequestState(kind="sitemap", etag="x" * (MAX_FIELD_BYTES + 1), digest="sha1:A")
    assert decode_state(encode_state(state)) == replace(state, etag="")


def test_of_cookies_the_newest_are_kept_and_none_is_cut():
    cookies = tuple((f"http://a.example/{n}", f"c{n}={'x' * 500}") for n in range(9))
    kept = decode_state(encode_state(RequestState(cookies=cookies))).cookies
    assert kept == cookies[-len(kept) :]
    assert len(kept) == MAX_COOKIE_BYTES // 530
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
