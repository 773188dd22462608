"""The border of a split: a key is on one side of it, always the same one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.shards.held_out_split import HeldOut, parse_share

KEYS = st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=50)
SHARES = st.floats(0.001, 0.999)


@given(keys=KEYS, share=SHARES)
def test_each_key_is_on_one_side(keys, share):
    train, held = (HeldOut(share=share, split=side).takes(keys) for side in ("train", "held-out"))
    assert (train != held).all()
    assert [bool(HeldOut(share=share).takes([key])[0]) for key in keys] == train.tolist()


@given(keys=KEYS, shares=st.tuples(SHARES, SHARES))
def test_a_larger_share_holds_out_what_a_smaller_one_does(keys, shares):
    small, large = (HeldOut(share=share, split="held-out").takes(keys) for share in sorted(shares))
    assert not (small & ~large).any()


def test_the_share_is_that_of_the_keys():
    held = HeldOut(share=0.05, split="held-out").takes(f"domain-{n}.test" for n in range(20_000))
    assert abs(held.mean() - 0.05) < 0.005


def test_a_share_is_written_as_a_part_or_in_per_cent():
    assert parse_share("1%") == parse_share("0.01") == parse_share(0.01) == 0.01
    for wrong in ("0", "100%", "1", "-1%", "some", "", "nan", "%"):
        with pytest.raises(InputError, match=f"--held-out {wrong}: give a share above 0 and below 1"):
            parse_share(wrong)
