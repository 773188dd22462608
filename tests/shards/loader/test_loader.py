"""One global order for any number of ranks, and every position of it can be resumed with any other number."""

import json
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shards.loader.made_export import documents_of, make_export, reseal, rows_of, segments_of
from thresher.core import CorruptData, InputError
from thresher.shards.loader.exact_loader import Loader

LENGTH = 32
WORLDS = (1, 2, 3, 8)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    root = tmp_path_factory.mktemp("export")
    make_export(root, SOURCES)
    return root


SOURCES = {
    "books": documents_of("books", 60, sizes=(20, 90)),
    "web": documents_of("web", 230),
}
RUNS = {
    "global": {},
    "window": {"shuffle": "window", "epochs": 2},
    "concat": {"packing": "concat", "epochs": 2},
    "rows": {"packing": "none", "shuffle": "none"},
    "mix": {"mix": {"web": 0.3, "books": 0.7}, "epochs": 2},
    "phases": {
        "phases": [{"until": 30, "shares": {"web": 1}}, {"shares": {"web": 1, "books": 2}}],
        "packing": "none",
    },
    "mixed windows": {"mix": {"web": 3, "books": 1}, "shuffle": "window", "seed": 5, "packing": "concat"},
}


@pytest.fixture(scope="module", params=RUNS)
def run(request, export, cache):
    """Makes loaders of one run."""

    def make(**more):
        return Loader(
            export,
            **{"length": LENGTH, "batch_size": 1, "cache": cache, **RUNS[request.param], **more},  # type: ignore[dict-item]
        )

    return make


def texts(batch):
    return [tuple(row.tolist()) for row in batch["input_ids"]]


@pytest.fixture(scope="module")
def whole(run):
    """Every sequence of the run in its order."""
    loader = run()
    found = [texts(batch)[0] for batch in loader]
    assert len(found) == loader.sequences > 20
    return found


def step_of(loaders):
    """One step of all ranks: their rows, in the order of the ranks."""
    return [text for iterator in loaders for text in texts(next(iterator))]


@pytest.mark.parametrize("world_size", WORLDS)
@pytest.mark.parametrize("batch_size", [1, 3])
def test_every_world_size_sees_the_same_order(run, whole, world_size, batch_size):
    loaders = [run(rank=rank, world_size=world_size, batch_size=batch_size) for rank in range(world_size)]
    steps = zip(*loaders, strict=True)
    seen = [text for step in steps for batch in step for text in texts(batch)]
    assert seen == whole[: len(whole) // (world_size * batch_size) * world_size * batch_size]


LEGS = st.lists(st.tuples(st.sampled_from(WORLDS), st.integers(1, 4), st.integers(0, 12)), max_size=8)


@settings(max_examples=10)
@given(legs=LEGS)
def test_any_sequence_of_world_sizes_repeats_and_skips_nothing(run, whole, legs):
    state, seen = run().state_dict(), []
    for world_size, batch_size, steps in [*legs, (1, 1, len(whole))]:
        ranks = [run(rank=rank, world_size=world_size, batch_size=batch_size) for rank in range(world_size)]
        for rank in ranks:
            rank.load_state_dict(json.loads(json.dumps(state)))
        iterators = [iter(rank) for rank in ranks]
        for _ in range(min(steps, (len(whole) - len(seen)) // (world_size * batch_size))):
            seen += step_of(iterators)
        state, *others = [rank.state_dict() for rank in ranks]
        assert all(other == state for other in others)
        assert state["sequences"] == len(seen)
    assert seen == whole


def test_a_restore_at_every_step_gives_the_identical_rest(run, whole):
    loader, resumed = run(batch_size=4), run(batch_size=4)
    states = [loader.state_dict(), *(loader.state_dict() for _ in loader)]
    assert len(states) == len(whole) // 4 + 1
    for number, state in enumerate(states):
        resumed.load_state_dict(state)
        rest = [text for batch in resumed for text in texts(batch)]
        assert rest == whole[4 * number : len(whole) // 4 * 4]


def test_a_step_that_the_run_does_not_fill_is_left_out_or_padded(run, whole):
    size = len(whole) - 3
    expected = [text for batch in run(pad_id=9) for text in texts(batch)]
    assert len(list(run(batch_size=size))) == 1
    ranks = [run(batch_size=size, drop_last=False, rank=rank, world_size=2, pad_id=9) for rank in range(2)]
    first, second = (list(rank) for rank in ranks)
    assert texts(first[0])[:size] == expected[:size]
    assert texts(second[0])[:3] == expected[size:]
    assert (second[0]["input_ids"][3:] == 9).all()
    assert not second[0]["segments"][3:].any()
    assert (second[0]["sequences"][3:] < 0).all()
    assert (
        ranks[0].state_dict()
        == ranks[1].state_dict()
        == run().state_dict() | {"sequences": len(whole), "last": len(whole)}
    )


def test_a_state_after_a_batch_is_that_of_the_loop(run):
    loader = run(batch_size=2, rank=1, world_size=3, drop_last=False)
    for batch in loader:
        assert loader.state_dict(after=batch) == loader.state_dict()


def test_a_run_places_every_token_once_an_epoch(export, cache):
    for packing in ("best-fit", "concat"):
        rows = [
            row
            for batch in Loader(export, length=LENGTH, batch_size=1, cache=cache, packing=packing, epochs=2)
            for row in rows_of(batch)
        ]
        seen = Counter(token for row in rows for piece in segments_of(row) for token in piece)
        tokens = Counter(
            int(token) for documents in SOURCES.values() for document in documents for token in document
        )
        assert seen == Counter({token: 2 * count for token, count in tokens.items()})


def test_best_fit_keeps_documents_whole(export, cache):
    loader = Loader(export, length=LENGTH, batch_size=5, cache=cache)
    pieces = {piece for batch in loader for row in rows_of(batch) for piece in segments_of(row)}
    short = {
        tuple(document.tolist()) for each in SOURCES.values() for document in each if len(document) <= LENGTH
    }
    assert short - pieces == set() or len(short - pieces) < 10  # those of the step that was left out


def test_a_mix_is_kept_and_ends_with_the_first_source_that_is_used_up(export, cache):
    loader = Loader(
        export,
        length=LENGTH,
        batch_size=1,
        cache=cache,
        mix={"web": 0.25, "books": 0.75},
        packing="none",
        epochs=2,
    )
    books = {tuple(document[:LENGTH].tolist()) for document in SOURCES["books"]}
    of_books = [segments_of(rows_of(batch)[0])[0] in books for batch in loader]
    assert sum(of_books) == 120
    assert abs(len(of_books) - 160) <= 2
    assert loader.sequences == len(of_books)


def test_phases_follow_each_other_and_each_source_goes_on(export, cache, tmp_path):
    file = tmp_path / "phases.toml"
    file.write_text(
        '[[phase]]\nuntil = "80%"\nshares = { web = 1 }\n[[phase]]\nshares = { web = 1, books = 3 }\n'
    )
    loader = Loader(
        export, length=LENGTH, batch_size=1, cache=cache, packing="none", phases=file, max_sequences=200
    )
    books = {tuple(document[:LENGTH].tolist()) for document in SOURCES["books"]}
    rows = [segments_of(rows_of(batch)[0])[0] for batch in loader]
    assert len(rows) == loader.sequences == 200
    assert not books.intersection(rows[:160])
    assert sum(row in books for row in rows[160:]) == 30
    assert len(set(rows)) == 200, "no sequence comes twice"


def test_a_run_of_two_ranks_goes_on_in_the_next_phase_with_three(export, cache):
    def ranks(count):
        return [
            Loader(
                export, length=LENGTH, batch_size=2, rank=rank, world_size=count, cache=cache, packing="none",
                phases=[{"until": "50%", "shares": {"web": 1}}, {"shares": {"web": 1, "books": 1}}],
                max_sequences=120,
            )
            for rank in range(count)
        ]  # fmt: skip

    def steps(loaders, count):
        iterators = [iter(loader) for loader in loaders]
        return [text for _ in range(count) for text in step_of(iterators)]

    full = steps(ranks(1), 60)
    two, three = ranks(2), ranks(3)
    seen = steps(two, 12)
    state = two[1].state_dict()
    for loader in three:
        loader.load_state_dict(json.loads(json.dumps(state)))
    assert seen + steps(three, 12) == full


def test_with_a_temperature_small_sources_come_more_often(export, cache):
    counts = []
    for temperature in (1, 4, 10**6):
        loader = Loader(
            export, length=LENGTH, batch_size=1, cache=cache, packing="none", epochs=None,
            phases=[{"temperature": temperature}], max_sequences=200,
        )  # fmt: skip
        books = {tuple(document[:LENGTH].tolist()) for document in SOURCES["books"]}
        counts.append(sum(segments_of(rows_of(batch)[0])[0] in books for batch in loader))
    sizes = [60, 230]
    for count, temperature in zip(counts, (1, 4, 10**6), strict=True):
        weights = [size ** (1 / temperature) for size in sizes]
        assert abs(count - 200 * weights[0] / sum(weights)) <= 2


def test_a_run_has_at_most_max_sequences(export, cache):
    loader = Loader(export, length=LENGTH, batch_size=7, cache=cache, packing="none", max_sequences=50)
    assert loader.sequences == 50
    assert sum(len(batch["sequences"]) for batch in loader) == 49
    assert (
        Loader(
            export, length=LENGTH, batch_size=1, cache=cache, packing="none", max_sequences=10**6
        ).sequences
        == 290
    )


def test_a_run_without_end_starts_each_source_again_in_a_new_order(export, cache):
    loader = Loader(
        export, length=LENGTH, batch_size=1, cache=cache, mix={"books": 1}, packing="none", epochs=None
    )
    assert loader.sequences is None
    batches = iter(loader)
    first, second = ([texts(next(batches))[0] for _ in range(60)] for _ in range(2))
    assert sorted(first) == sorted(second)
    assert first != second


def test_several_exports_are_one_run(tmp_path, cache):
    for name in ("a", "b"):
        make_export(tmp_path / name, {"web": documents_of(name, 30)})
    loader = Loader(
        [tmp_path / "a", tmp_path / "b"], length=LENGTH, batch_size=1, cache=cache, packing="none"
    )
    assert loader.sequences == 60
    assert loader.sources == ("web",)
    assert len({texts(batch)[0] for batch in loader}) == 60
    make_export(tmp_path / "b", {"web": documents_of("b", 30)}, tokenizer="another")
    with pytest.raises(InputError, match="different tokenizers"):
        Loader([tmp_path / "a", tmp_path / "b"], length=LENGTH, batch_size=1, cache=cache)


def test_a_plan_of_the_export_is_used(tmp_path, cache):
    make_export(tmp_path / "with", {"web": documents_of("web", 90)}, plan_length=LENGTH)
    make_export(tmp_path / "without", {"web": documents_of("web", 90)})
    empty = tmp_path / "empty"
    read = {
        name: [
            text
            for batch in Loader(tmp_path / name, length=LENGTH, batch_size=1, cache=empty / name)
            for text in texts(batch)
        ]
        for name in ("with", "without")
    }
    assert read["with"] == read["without"]
    assert sorted(path.name for path in empty.iterdir()) == ["without"]


def test_a_state_is_small_json(run):
    loader = run()
    next(iter(loader))
    assert len(json.dumps(loader.state_dict())) < 400


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("length", {"length": LENGTH + 1}),
        ("packing", {"packing": "concat"}),
        ("shuffle", {"shuffle": "window"}),
        ("seed", {"seed": 1}),
        ("mix", {"mix": {"web": 1}}),
    ],
)
def test_a_state_of_another_run_is_refused_by_the_field(export, cache, field, options):
    options = {"length": LENGTH, "batch_size": 1, "cache": cache, **options}
    state = Loader(export, length=LENGTH, batch_size=1, cache=cache).state_dict()
    with pytest.raises(InputError, match=f"^state: {field} is") as error:
        Loader(export, **options).load_state_dict(state)
    assert "\n" not in str(error.value)


def test_a_state_of_other_data_is_refused(tmp_path, export, cache):
    make_export(tmp_path, {"web": documents_of("web", 10)})
    state = Loader(export, length=LENGTH, batch_size=1, cache=cache).state_dict()
    with pytest.raises(InputError, match="state: dataset is"):
        Loader(tmp_path, length=LENGTH, batch_size=1, cache=cache).load_state_dict(state)


@pytest.mark.parametrize(
    "broken", [None, [], {}, {"format": "x"}, {"sequences": -1}, {"sequences": "1"}, {"last": True}]
)
def test_what_is_no_state_is_refused(export, cache, broken):
    loader = Loader(export, length=LENGTH, batch_size=1, cache=cache)
    if isinstance(broken, dict) and "format" not in broken and broken:
        broken = loader.state_dict() | broken
    with pytest.raises(InputError, match=r"^state: "):
        loader.load_state_dict(broken)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("length=0", {"length": 0}),
        ("batch_size=-1", {"batch_size": -1}),
        ("rank=2: ranks of world_size=2", {"rank": 2, "world_size": 2}),
        ("seed=1.5", {"seed": 1.5}),
        ("epochs=0", {"epochs": 0}),
        ("packing='first'.*best-fit, concat, none", {"packing": "first"}),
        ("shuffle=True", {"shuffle": True}),
        ("no source 'wiki'; the export has 'books', 'web'", {"mix": {"wiki": 1}}),
        ("mix={}", {"mix": {}}),
        ("mix: 'web' has the share 0; give .* above 0", {"mix": {"web": 0}}),
        ("cache_size='many'", {"cache_size": "many"}),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(export, cache, words, options):
    with pytest.raises(InputError, match=words) as error:
        Loader(export, **{"length": LENGTH, "batch_size": 1, "cache": cache, **options})
    assert "\n" not in str(error.value)


def test_where_no_export_is_one_line_says_so(tmp_path, cache):
    for words, location in (
        ("no manifest.json", tmp_path),
        ("give a directory, or an address", "gs://bucket/out"),
        ("at least one", []),
    ):
        with pytest.raises(InputError, match=words):
            Loader(location, length=8, batch_size=1, cache=cache)
    dataset = make_export(tmp_path, {"web": documents_of("web", 9)})
    reseal(tmp_path, dataset, shards=())
    with pytest.raises(InputError, match="no shards of tokens; export with `--format tokens`"):
        Loader(tmp_path, length=8, batch_size=1, cache=cache)


def test_a_damaged_shard_is_named_with_its_offset_and_not_skipped(tmp_path, cache):
    make_export(tmp_path, {"web": documents_of("web", 90)})
    path = tmp_path / "tokens" / "web" / "shard-00000.tokens"
    data = bytearray(path.read_bytes())
    data[4096 + 7] ^= 1
    path.write_bytes(data)
    for packing in ("concat", "none"):
        with pytest.raises(CorruptData, match=r"shard-00000\.tokens: damaged between offset 4096 and"):
            list(Loader(tmp_path, length=8, batch_size=1, cache=cache, packing=packing))
    path.unlink()
    with pytest.raises(CorruptData, match=r"shard-00000\.tokens is missing"):
        list(Loader(tmp_path, length=8, batch_size=1, cache=cache, packing="concat"))


def test_a_loader_travels_to_another_process_with_its_place(run):
    loader = run(batch_size=2)
    batches = iter(loader)
    next(batches)
    other = pickle.loads(pickle.dumps(loader))
    assert other.state_dict() == loader.state_dict()
    assert texts(next(iter(other))) == texts(next(batches))


def test_what_it_did_is_counted(run):
    loader = run(batch_size=2)
    for _ in zip(range(3), loader, strict=False):
        pass
    counted = loader.metrics()
    assert counted["thresher_loader_batches_total"] == 3
    assert counted["thresher_loader_sequences_total"] == 6
    assert counted["thresher_loader_stall_seconds_total"] > 0


def test_the_loss_of_a_packing_is_reported(export, cache):
    tokens = sum(len(document) for documents in SOURCES.values() for document in documents)
    for packing in ("best-fit", "concat", "none"):
        loader = Loader(export, length=LENGTH, batch_size=1, cache=cache, packing=packing)
        loss = loader.packing_loss()
        placed = sum(int((batch["segments"] > 0).sum()) for batch in loader)
        assert (loss.tokens, loss.placed, loss.sequences) == (tokens, placed, loader.sequences)
        assert (loss.placed < tokens) == (packing == "none")


def test_it_says_where_it_stands(export, cache):
    loader = Loader(export, length=LENGTH, batch_size=1, cache=cache)
    next(iter(loader))
    assert repr(loader).startswith(f"<loader of {export}: rank 0 of 1, sequence 1 of ")


def test_ids_of_four_bytes_come_through(tmp_path, cache):
    documents = [np.arange(70_000 + n, 70_009 + n, dtype=np.uint32) for n in range(20)]
    make_export(tmp_path, {"web": documents}, id_bytes=4)
    loader = Loader(tmp_path, length=9, batch_size=4, cache=cache)
    assert sorted(text for batch in loader for text in texts(batch)) == [
        tuple(document.tolist()) for document in documents
    ]
