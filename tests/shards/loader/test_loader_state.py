"""A state continues the run, or one line says why not. The end of a run is no silent nothing."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import few_examples
from tests.shards.loader.made_export import documents_of, make_export
from thresher.core import InputError
from thresher.shards.loader.exact_loader import Loader
from thresher.shards.loader.state import from_worker_state, to_worker_state

LENGTH = 32
SEQUENCES = 60


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, {"web": documents_of("web", SEQUENCES)})
    return root


@pytest.fixture(scope="module")
def make(export, tmp_path_factory):
    """Makes loaders of a run of 60 sequences an epoch."""
    cache = tmp_path_factory.mktemp("cache")

    def make_loader(**more):
        return Loader(
            export, **{"length": LENGTH, "batch_size": 8, "packing": "none", "cache": cache, **more}
        )

    return make_loader


def numbers(loader):
    return [number for batch in loader for number in batch["sequences"].tolist()]


def test_a_loop_goes_on_after_a_break(make):
    loader = make()
    first = []
    for batch in loader:
        first += batch["sequences"].tolist()
        if len(first) == 16:
            break
    assert first + numbers(loader) == list(range(56))


@pytest.mark.parametrize("drop_last", [True, False])
def test_a_second_loop_over_a_finished_loader_is_refused(make, drop_last):
    loader = make(drop_last=drop_last)
    start = loader.state_dict()
    assert len(numbers(loader)) == (56 if drop_last else 64)
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"the run has ended: epochs=1; make the loader with more epochs"
        ):
            iter(loader)
    loader.load_state_dict(start)
    assert len(numbers(loader)) == (56 if drop_last else 64)


def test_a_run_that_was_at_its_end_when_it_was_saved_gives_nothing(make):
    finished = make(drop_last=False)
    numbers(finished)
    again = make(drop_last=False)
    again.load_state_dict(finished.state_dict())
    assert numbers(again) == []
    longer = make(drop_last=False, epochs=2)
    longer.load_state_dict(finished.state_dict())
    assert [number for number in numbers(longer) if number >= 0] == list(range(60, 120))


def test_a_step_larger_than_the_whole_run_is_refused_unless_it_may_be_short(make):
    with pytest.raises(
        InputError, match=r"batch_size=61 times world_size=1 is 61, and the run has 60 .*give drop_last=False"
    ):
        make(batch_size=61)
    with pytest.raises(InputError, match=r"batch_size=8 times world_size=10 is 80, and the run has 60"):
        make(world_size=10)
    (batch,) = make(batch_size=61, drop_last=False)
    assert (batch["sequences"] >= 0).sum() == 60
    assert len(numbers(make(batch_size=61, epochs=2))) == 61
    assert len(next(iter(make(batch_size=61, epochs=None)))["sequences"]) == 61


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("sequences is 61, and the run has 60; make the loader with the epochs", {"sequences": 61}),
        ("sequences is 1000000.*, which is no count", {"sequences": 10**30}),
        ("sequences is 1.0, which is no count", {"sequences": 1.0}),
        ("sequences is True, which is no count", {"sequences": True}),
        ("sequences is '8', which is no count", {"sequences": "8"}),
        ("last is 9, more than the 8 sequences before it", {"sequences": 8, "last": 9}),
        ("last is None", {"last": None}),
        ("seed is False and the loader has 0", {"seed": False}),
        ("length is 32.0 and the loader has 32", {"length": 32.0}),
        ("there is no field 'rank'", {"rank": 0}),
        ("its field format is not", {"format": "thresher-loader@0"}),
    ],
)
def test_a_state_that_does_not_fit_is_refused_by_the_field(make, words, change):
    loader = make()
    before = loader.state_dict()
    for use in (loader.load_state_dict, lambda state: loader.trace(state, row=0, position=0)):
        with pytest.raises(InputError, match=rf"^state: {words}") as error:
            use(before | change)
        assert "\n" not in str(error.value)
    assert loader.state_dict() == before


def test_a_field_that_is_missing_is_named(make):
    loader = make()
    for name in loader.state_dict():
        state = loader.state_dict()
        del state[name]
        with pytest.raises(InputError, match=name):
            loader.load_state_dict(state)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("format", "dataset", "length", "packing", "shuffle", "seed", "mix", "sequences", "last", "other")


@settings(max_examples=few_examples(100, of=300), deadline=None)
@given(state=JSON, changes=st.dictionaries(st.sampled_from(FIELDS), JSON | st.integers(0, 70), max_size=3))
@example(state=None, changes={"sequences": 60, "last": 4})
def test_any_json_continues_the_run_or_is_refused_in_one_line(make, state, changes):
    loader = make(drop_last=False)
    if not isinstance(state, dict) or changes:
        state = (loader.state_dict() | changes) if changes else state
    state = json.loads(json.dumps(state))
    refusal = ""
    try:
        loader.load_state_dict(state)
    except InputError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("state: ")
        assert "\n" not in refusal
        return
    assert [number for number in numbers(loader) if number >= 0] == list(range(state["sequences"], 60))


def test_the_state_of_a_worker_comes_back(make):
    start = make().state_dict()
    assert from_worker_state(json.loads(json.dumps(to_worker_state(start, 3)))) == (start, 3)


@pytest.mark.parametrize(
    "state",
    [None, [], {}, {"start": {}}, {"start": {}, "given": -1}, {"start": {}, "given": True}, {"start": {}, "given": 1, "x": 1}],
)  # fmt: skip
def test_what_is_no_state_of_a_worker_is_refused(state):
    with pytest.raises(InputError, match=r"^state"):
        from_worker_state(state)


@pytest.mark.parametrize(
    "batch", [{}, None, 3, {"sequences": []}, {"sequences": ["x"]}, {"sequences": [5]}, []]
)
def test_what_is_no_batch_of_this_rank_has_no_state(make, batch):
    loader = make(rank=1, world_size=2, batch_size=8)
    with pytest.raises(InputError, match=r"state_dict\(after=\.\.\.\): .*give a batch of this loader"):
        loader.state_dict(after=0 if batch is None else batch)
