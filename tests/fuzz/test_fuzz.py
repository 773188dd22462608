"""Readers of other people's bytes stand what was ever found, and some hundred inputs more: no exception, no time or
memory out of proportion.
"""

import pytest

from tests.fuzz.fuzzing import CORPUS, Finding, fuzz, mutate, reader_failure, samples
from tests.fuzz.readers import Reader, readers

READERS = readers()
FEW, MANY = 10, 120
FOUND = [(path.parent.name, path) for path in sorted(CORPUS.glob("*/*"))]


@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_a_reader_stands_its_samples_and_what_is_made_of_them(name, runs):
    reader = READERS[name]
    for sample in reader.samples:
        assert reader_failure(reader, sample) is None
    found = [each.what for each in fuzz(name, reader, 0, runs=runs, real=5) if each is not None]
    assert not found, found[0]


@pytest.mark.parametrize(("name", "path"), FOUND, ids=[f"{name}:{path.name}" for name, path in FOUND])
def test_a_reader_stands_what_was_found(name, path):
    assert (found := reader_failure(READERS[name], path.read_bytes())) is None, found


def test_the_fuzzer_finds_what_raises_and_what_is_quadratic():
    def raising(data):
        if b"&#" in data:
            int(b"9" * 5_000)

    def quadratic(data):
        for at in range(data.count(b"<")):
            data.find(b">>>", at % 2)
            bytes(len(data))

    for read in (raising, quadratic):
        reader = Reader(read=read, tokens=(b"&#", b"<"), samples=(b"a<b",), us_a_byte=1.0)
        found = next((each for each in fuzz("x", reader, 0, runs=400) if each is not None), None)
        assert isinstance(found, Finding)


def test_the_same_seed_makes_the_same_inputs():
    import random

    reader = READERS["links"]
    known = samples(reader, 0)
    made = [[mutate(random.Random(seed), known, reader.tokens) for seed in range(20)] for _ in range(2)]
    assert made[0] == made[1]
