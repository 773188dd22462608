"""A URL comes back from its record as it went in, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import CorruptData, InputError
from frontier import Discovery, Scope, canonical
from frontier.encoding import Stored, decode, encode, identity

URLS = st.builds(
    lambda host, path: canonical(f"https://{host}:8080/{path}"),
    st.sampled_from(["example.com", "[::1]", "a.b.co.uk."]),
    st.text(alphabet="ab%7e/?é\t", max_size=20),
)
LEVELS = st.integers(-1_000_000_000, 1_000_000_000)
DISCOVERIES = st.builds(
    lambda url, kind, **fields: Discovery(url=url, scope=Scope.of(kind, url), **fields),
    url=URLS,
    kind=st.sampled_from(["any", "domain", "host", "prefix"]),
    depth=LEVELS,
    priority=LEVELS,
    max_depth=st.none() | st.integers(0, 100),
    hops=st.integers(0, 20),
)


@given(DISCOVERIES)
def test_a_record_says_all_that_was_discovered(discovery):
    assert decode(encode(discovery)) == Stored(discovery=discovery, attempt=0, expiries=0)


@given(DISCOVERIES, st.data())
def test_a_record_that_is_not_whole_is_corrupt_or_shorter_in_its_last_field_only(discovery, data):
    record = encode(discovery)
    cut = record[: data.draw(st.integers(0, record.rindex(b"\t")))]
    with pytest.raises(CorruptData):
        decode(cut)


def test_a_record_of_another_version_is_refused():
    record = encode(Discovery(url=canonical("http://a/"), scope=Scope(kind="any", anchor="")))
    with pytest.raises(CorruptData, match="not of version 1"):
        decode(b"2" + record[1:])


def test_the_form_of_a_record_is_fixed():
    url = canonical("http://a.example/%7e")
    discovery = Discovery(url=url, scope=Scope.of("host", url), depth=2, priority=-1, max_depth=3)
    assert encode(discovery) == (
        b"1\t0\t0\t2\t-1\t3\t0\thost:a.example\thttp://a.example/~\thttp://a.example/%7e"
    )
    assert identity(url) == identity(canonical("http://a.example/~"))
    assert len(identity(url)) == 20


def test_a_level_that_could_not_be_ordered_is_refused():
    with pytest.raises(InputError, match="within"):
        Discovery(url=canonical("http://a/"), scope=Scope(kind="any", anchor=""), priority=2_000_000_000)
