"""A mix file is right or refused in one line; its factors give the wanted amounts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.shards.mix import (
    Mix,
    MixSource,
    RealisedSource,
    coarseness,
    copies,
    factor_bounds,
    load_mix,
    mix_line,
    ranks,
    solve_factors,
    wanted_amounts,
)

GOOD = """
by = "documents"
size = 1000
[[source]]
name = "web"
share = 0.75
where.language = ["en", "de"]
where.quality = { min = 0.5 }
[[source]]
name = "books"
share = 0.25
repeat = 4
cap = 300
weight = "cluster_size"
"""


def test_a_mix_is_read(tmp_path):
    path = tmp_path / "mix.toml"
    path.write_text(GOOD)
    mix = load_mix(path)
    assert (mix.by, mix.size, [source.name for source in mix.source]) == ("documents", 1000, ["web", "books"])
    assert mix.source[0].where["quality"].min == 0.5  # type: ignore[union-attr]
    assert (mix.source[1].repeat, mix.source[1].cap, mix.source[1].weight) == (4, 300, "cluster_size")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("[[source]]", "[[sauce]]", "unknown key 'sauce'; did you mean 'source'"),
        ("share = 0.75", "share = -1", "'web': share must be more than 0"),
        ("share = 0.75", "share = 'much'", r"source\[0\]\.share"),
        ("share = 0.75", "shares = 1", "unknown key 'shares'; did you mean 'share'"),
        ("share = 0.75", "share = inf", "share"),
        ("share = 0.75", "share = 1e13", "share"),
        ("share = 0.75", "share = true", "share"),
        ('by = "documents"', 'bye = "documents"', "the unknown key 'bye'; did you mean 'by'"),
        ("size = 1000", "size = 10e3", "size"),
        ("size = 1000", f"size = {10**400}", "size must be"),
        ("repeat = 4", "repeat = 1000000000", "repeat must be"),
        ("cap = 300", f"cap = {10**30}", "cap must be"),
        ("{ min = 0.5 }", "{ min = 'nan' }", "min"),
        ("{ min = 0.5 }", "{ min = nan }", "where.quality: min and max must be finite"),
        ("{ min = 0.5 }", "{ max = inf }", "where.quality: min and max must be finite"),
        ("{ min = 0.5 }", "{ min = 2, max = 1 }", "min is more than max"),
        ("{ min = 0.5 }", "{ }", "neither min nor max"),
        ('["en", "de"]', "[]", "where.language is an empty list"),
        ('["en", "de"]', "5", "where"),
        ("[[source]]", "[source]", "TOML|begin each source with the line"),
        ('name = "web"', 'name = ""', "letters, digits"),
        ("size = 1000", f"size = {'[' * 100_000}", "TOML"),
        ("share = 0.75", "share = nan", "share"),
        ('name = "web"', 'name = "books"', "'books' occurs twice"),
        ('name = "web"', 'name = "../web"', "letters, digits"),
        ("repeat = 4", "repeat = 0", "repeat must be at least 1"),
        ("cap = 300", "cap = 0", "cap must be at least 1"),
        ("size = 1000", "size = 0", "size must be at least 1"),
        ('by = "documents"', 'by = "bytes"', "by"),
        ("{ min = 0.5 }", "{ least = 0.5 }", "least"),
        ("share = 0.75", "share = ", "TOML"),
    ],
)
def test_a_wrong_mix_is_refused_in_one_line(tmp_path, old, new, named):
    path = tmp_path / "mix.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=named) as refusal:
        load_mix(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"source = []", b"source = 5", b"[source]\nname = 'a'\nshare = 1"]
)
def test_a_file_without_a_mix_is_refused(tmp_path, content):
    (tmp_path / "mix.toml").write_bytes(content)
    with pytest.raises(InputError, match=r"mix\.toml"):
        load_mix(tmp_path / "mix.toml")
    with pytest.raises(InputError, match="no such file"):
        load_mix(tmp_path / "absent.toml")


@given(st.integers(1, 500), st.integers(0, 9))
def test_ranks_are_the_places_of_a_permutation(count, seed):
    found = ranks(np.arange(count), count, seed)
    assert np.allclose(np.sort(found), (np.arange(count) + 0.5) / count)


WIDE = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)


def solved(documents, part, repeat, *, capped=False):
    """Return the wanted and the realised amount of one source of documents (tokens, weight), and how often each occurs."""
    amount = np.array([tokens for tokens, _ in documents])
    weights = np.array([weight for _, weight in documents])
    rank = ranks(np.arange(len(documents)), len(documents), 0)

    def amounts(factors):
        return np.array(
            [[(copies(each, weights, rank, repeat) * amount).sum() for each in factors[0]]], dtype=float
        )

    bounds = factor_bounds(weights.min(), weights.max(), len(documents), repeat)
    assert amounts(np.array([bounds])).tolist() == [[0, amount.sum() * repeat]]
    target = round(amount.sum() * repeat * part)
    (factor,) = solve_factors(amounts, [target], [bounds], [capped])
    times = copies(factor, weights, rank, repeat)
    assert times.max() <= repeat
    return target, int((times * amount).sum()), times


@given(
    st.lists(st.tuples(st.integers(1, 50), WIDE), min_size=1, max_size=300),
    st.floats(0.0, 1.0),
    st.integers(1, 5),
)
def test_the_factor_gives_the_wanted_amount_to_within_one_document(documents, part, repeat):
    target, realised, _ = solved(documents, part, repeat)
    assert abs(realised - target) <= max(tokens for tokens, _ in documents)


@given(
    st.lists(st.tuples(st.integers(1, 50), WIDE), min_size=1, max_size=50),
    st.floats(0.0, 1.0),
    st.integers(1, 5),
)
def test_a_source_with_a_cap_does_not_exceed_it(documents, part, repeat):
    target, realised, _ = solved(documents, part, repeat, capped=True)
    assert realised <= target


def test_weights_of_24_decades_give_the_share_and_the_heavier_documents():
    random = np.random.default_rng(1)
    documents = [(int(tokens), 10.0 ** random.uniform(-12, 12)) for tokens in random.integers(1, 1000, 2000)]
    for part in (0.1, 0.3, 0.5, 0.9):
        target, realised, times = solved(documents, part, 3)
        assert coarseness(target, realised) == ""
        order = np.argsort([weight for _, weight in documents])
        assert times[order[-100:]].sum() > times[order[:100]].sum()


@pytest.mark.parametrize(
    ("wanted", "realised", "limit"),
    [(0, 0, "coarse"), (1000, 1001, ""), (1000, 1002, "coarse"), (5, 0, "coarse")],
)
def test_a_share_that_whole_documents_miss_is_called_coarse(wanted, realised, limit):
    assert coarseness(wanted, realised) == limit


def test_a_heavier_document_occurs_more_often():
    weights = np.array([1.0] * 500 + [4.0] * 500)
    rank = ranks(np.arange(1000), 1000, 0)
    times = copies(0.9, weights, rank, 10)
    assert 3.7 < times[500:].sum() / times[:500].sum() < 4.3


def mix_of(*sources, size=None):
    return Mix(source=[MixSource(name=f"s{at}", **source) for at, source in enumerate(sources)], size=size)


def test_without_a_size_the_dataset_is_the_largest_that_has_the_shares():
    assert wanted_amounts(mix_of({"share": 3}, {"share": 1}), [900, 1000]) == ([900, 300], ["", ""])


def test_a_source_that_has_too_little_is_said_to_run_dry_and_a_cap_is_named():
    mix = mix_of({"share": 1}, {"share": 1, "cap": 100}, {"share": 2}, size=4000)
    assert wanted_amounts(mix, [500, 5000, 5000]) == ([1000, 1000, 2000], ["dry", "cap", ""])
    dry = RealisedSource(
        name="s0", share=0.25, wanted=1000, realised=500, available=500, documents=5, rows=5, limit="dry"
    )
    assert "ran dry at 500 of 1,000 tokens" in mix_line(dry, 2600, "tokens")
