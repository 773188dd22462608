"""A cache is a dictionary that may forget, whatever is done to its files."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.examples import few_examples
from tests.storage.cache.cache_files import assert_in_order, block_file, down, is_kept
from thresher.storage.cache import block
from thresher.storage.cache.block_cache import Cache
from thresher.storage.cache.cache_space import CacheSpace, disk_bytes

KEYS = [f"key {number}" for number in range(12)]


def content(key):
    """Every key has its bytes: of none to five pages."""
    return key.encode() * (int(key.split()[1]) * 300)


class Reads(RuleBasedStateMachine):
    """A dictionary that may forget, against the cache: whatever is done to its files."""

    def __init__(self, root):
        super().__init__()
        self.directory = root / os.urandom(8).hex()
        self.cache = Cache(self.directory, 10 * 4096)
        self.fetched = []
        self.answered = 0

    def fetch(self, key):
        self.fetched.append(key)
        return content(key)

    def kept(self, key):
        return is_kept(self.cache, key, content(key))

    @rule(key=st.sampled_from(KEYS))
    def get(self, key):
        expected = [] if self.kept(key) else [key]
        before = len(self.fetched)
        assert self.cache.get(key, lambda: self.fetch(key)) == content(key)
        assert self.fetched[before:] == expected
        self.answered += not expected
        size = block.size(block.encoded(key), content(key))
        assert self.kept(key) == (disk_bytes(size) <= self.cache.max_bytes)

    @rule(key=st.sampled_from(KEYS))
    def fail(self, key):
        if self.kept(key):
            self.get(key)
        else:
            with pytest.raises(ConnectionError):
                self.cache.get(key, down)
            assert not self.kept(key)

    @rule(key=st.sampled_from(KEYS), at=st.integers(0, 10_000), flip=st.integers(0, 255))
    def damage(self, key, at, flip):
        path = block_file(self.cache, key)
        if path.exists():
            good = path.read_bytes()
            at %= len(good)
            path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :] if flip else good[:at])
            self.get(key)

    @rule(pages=st.integers(1, 30))
    def reopen(self, pages):
        self.cache = Cache(self.directory, pages * 4096)
        self.cache._prepare()

    @rule(length=st.integers(0, 20_000), changing=st.booleans())
    def die(self, length, changing):
        """A maker that was killed, perhaps while it changed the totals."""
        room = CacheSpace(self.directory, self.cache.max_bytes)
        with room.lock_pending("made", 1) as making:
            room.reserve(making, length)
            os.link(making.path, making.path.with_name("left"))
        with suppress(InterruptedError), room._ledger.update() as change:
            if changing:
                raise InterruptedError
            change.totals = room._ledger.recount(change.totals)
        self.reopen(self.cache.max_bytes // 4096)

    @rule()
    def lose_ledger(self):
        (self.directory / "ledger").unlink(missing_ok=True)
        self.cache._prepare()

    @rule()
    def delete(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.fetched.clear()
        self.answered = 0
        self.get(KEYS[1])

    @invariant()
    def the_totals_are_true(self):
        if self.directory.exists():
            assert_in_order(self.cache)
            assert self.cache.stats().misses == len(self.fetched)
            assert self.cache.stats().hits == self.answered

    def teardown(self):
        shutil.rmtree(self.directory, ignore_errors=True)


def test_it_is_a_dictionary_that_may_forget(tmp_path: Path):
    run_state_machine_as_test(
        cast(Any, lambda: Reads(tmp_path)),
        settings=settings(max_examples=few_examples(20, of=60), stateful_step_count=25),
    )
