"""A cache of a mebibyte."""

from pathlib import Path

import pytest

from tests.storage.cache.cache_files import MIB
from thresher.storage.cache.block_cache import Cache


@pytest.fixture
def cache(tmp_path: Path):
    return Cache(tmp_path / "cache", MIB)
