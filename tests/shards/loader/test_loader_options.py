"""A wrong option or place is one line that names it, whatever its type; NumPy's numbers are numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import InputError
from thresher.shards.loader.exact_loader import Loader

LENGTH = 32


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, {"books": documents_of("books", 20), "web": documents_of("web", 60)})
    return root


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("length=2147483648: give a whole number from 1 to 4194304", {"length": 1 << 31}),
        ("length=32.0: give a whole number", {"length": 32.0}),
        ("length=True: give a whole number", {"length": True}),
        ("batch_size=2000 times length=2000000 is 4000000000", {"length": 2_000_000, "batch_size": 2000}),
        ("batch_size='8'", {"batch_size": "8"}),
        ("world_size=1000000000000", {"world_size": 10**12}),
        (
            "batch_size=1000000 times world_size=10000000",
            {"batch_size": 10**6, "world_size": 10**7, "length": 1},
        ),
        ("rank=2: ranks of world_size=2 go from 0 to 1", {"rank": 2, "world_size": 2}),
        ("epochs=.*or None for a run without end", {"epochs": 0}),
        ("epochs=100000.*or None", {"epochs": 10**30}),
        ("epochs=True", {"epochs": True}),
        ("packing=.'best-fit'.: give one of", {"packing": ["best-fit"]}),
        ("shuffle=None: give one of", {"shuffle": None}),
        ("mix=.'web'.: give a dict", {"mix": ["web"]}),
        ("mix='web': give a dict", {"mix": "web"}),
        ("mix: 'web' has the share inf", {"mix": {"web": math.inf}}),
        ("mix: 'web' has the share nan", {"mix": {"web": math.nan}}),
        ("mix: 'web' has the share -1", {"mix": {"web": -1}}),
        ("mix: 'web' has the share True", {"mix": {"web": True}}),
        ("mix: 'web' has the share '1'", {"mix": {"web": "1"}}),
        ("mix: 'web' has the share None", {"mix": {"web": None}}),
        ("mix: 'web' has the share 1000000", {"mix": {"web": 10**400}}),
        ("mix: 3 has the share 1", {"mix": {3: 1}}),
        ("mix: a share below 1/65536", {"mix": {"web": 1e308, "books": 1}}),
        (
            "either mix, for all of the run, or phases",
            {"mix": {"web": 1}, "phases": [{"shares": {"web": 1}}]},
        ),
        (r"phases=\[\]: give a list of dicts with until, shares", {"phases": []}),
        ("phases=.*no/file.*: cannot be read as TOML", {"phases": "no/file"}),
        (r"phases\[0\]={'mix'.*: give a dict of until", {"phases": [{"mix": {"web": 1}}]}),
        (r"phases\[0\]: give either shares or temperature", {"phases": [{"shares": {}, "temperature": 1}]}),
        (r"phases\[0\]: the last phase lasts to the end", {"phases": [{"until": 3, "shares": {"web": 1}}]}),
        (r"phases\[0\]: give until", {"phases": [{"shares": {"web": 1}}] * 2}),
        (r"phases\[0\]: shares: 'web' has the share 0", {"phases": [{"shares": {"web": 0}}]}),
        (r"phases\[0\]: temperature=0.5: give a number from 1", {"phases": [{"temperature": 0.5}]}),
        (
            r"phases\[0\]: until='80%' is a part of the run; give its length as max_sequences",
            {"phases": [{"until": "80%", "temperature": 1}, {"temperature": 2}]},
        ),
        (
            r"phases\[0\]: until='8%%': give a number",
            {"phases": [{"until": "8%%", "temperature": 1}, {"temperature": 2}]},
        ),
        (
            r"phases\[1\]: it begins at sequence 5 and ends at 5",
            {"phases": [*({"until": 5, "temperature": 1},) * 2, {"temperature": 2}]},
        ),
        (
            r"phases: the last one begins at sequence 900, and 'books' has had its epochs=1 at",
            {"phases": [{"until": 900, "temperature": 3}, {"temperature": 2}]},
        ),
        ("mix: there is no source 'news'", {"phases": [{"shares": {"news": 1}}]}),
        ("max_sequences=0: .*or None for a run without end", {"max_sequences": 0}),
        ("drop_last='no': give True or False", {"drop_last": "no"}),
        ("drop_last=1: give True or False", {"drop_last": 1}),
        ("pad_id=-1: give a whole number", {"pad_id": -1}),
        ("pad_id=0.5: give a whole number", {"pad_id": 0.5}),
        ("pad_id=9223372036854775808", {"pad_id": 1 << 63}),
        ("seed=9223372036854775808", {"seed": 1 << 63}),
        ("cache_size=-1", {"cache_size": -1}),
        ("cache_size=True", {"cache_size": True}),
        ("cache_size=None", {"cache_size": None}),
        ("cache_size=1.5", {"cache_size": 1.5}),
        ("cache=3: give a directory", {"cache": 3}),
        ("cache='': give a directory", {"cache": ""}),
    ],
)
def test_a_wrong_option_is_named(export, cache, words, options):
    with pytest.raises(InputError, match=words) as error:
        Loader(export, **{"length": LENGTH, "batch_size": 1, "cache": cache, **options})
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("words", "datasets"),
    [
        (r"Loader\(None\): give an export directory", None),
        (r"Loader\(\[\]\): give at least one", []),
        (r"Loader\(3\)", 3),
        (r"Loader\(\{'a'\}\): give an export directory", {"a"}),
        (r"Loader: None is no export directory", [None]),
        (r"Loader: '' is no export directory", ""),
        (r"Loader\('a\\x00b'\): has no manifest", "a\0b"),
        (r"Loader\('x+.*'\): File name too long", "x" * 300),
        (r"Loader\('/dev/null'\): has no manifest.json", "/dev/null"),
        (r"Loader\('two\\nlines'\): has no manifest.json", "two\nlines"),
    ],
)
def test_what_is_no_export_is_named(cache, words, datasets):
    with pytest.raises(InputError, match=words) as error:
        Loader(datasets, length=LENGTH, batch_size=1, cache=cache)
    assert "\n" not in str(error.value)


def rows(loader):
    return [row for batch in loader for row in batch["input_ids"].tolist()]


def test_numbers_of_numpy_are_numbers(export, cache):
    plain = Loader(
        export, length=LENGTH, batch_size=2, seed=3, mix={"web": 1, "books": 3}, cache=cache, epochs=2
    )
    of_numpy = {
        "length": np.int64(LENGTH),
        "batch_size": np.int32(2),
        "rank": np.int64(0),
        "world_size": np.uint8(1),
        "seed": np.int64(3),
        "mix": {"books": np.float32(3), "web": np.float64(1)},
        "epochs": np.int64(2),
        "drop_last": np.bool_(True),
        "pad_id": np.int16(0),
        "cache": str(cache),
        "cache_size": np.int64(1 << 30),
    }
    other = Loader(export, **of_numpy)  # type: ignore[arg-type]
    assert rows(other) == rows(plain)
    other.load_state_dict(plain.state_dict())  # the same run: shares 1 and 1.0 are equal


def test_large_shares_are_shares(export, cache):
    small = Loader(export, length=LENGTH, batch_size=1, mix={"web": 1, "books": 1}, cache=cache)
    large = Loader(export, length=LENGTH, batch_size=1, mix={"web": 1e308, "books": 1e308}, cache=cache)
    assert rows(large) == rows(small)


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["web", "books", ""]), st.floats(), max_size=2), st.binary(max_size=3),
)  # fmt: skip
OPTIONS = ("length", "batch_size", "rank", "world_size", "seed", "packing", "mix", "epochs", "shuffle", "drop_last",
           "pad_id", "cache_size")  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(OPTIONS), value=ANYTHING)
def test_any_value_of_an_option_works_or_is_refused_in_one_line(export, cache, name, value):
    if name in ("length", "batch_size") and isinstance(value, int) and value > 10_000:
        return  # allowed, and a batch of it would be large
    refusal = ""
    try:
        loader = Loader(export, **{"length": 8, "batch_size": 1, "cache": cache, name: value})
        next(iter(loader))
    except InputError as error:
        refusal = str(error)
    assert "\n" not in refusal
