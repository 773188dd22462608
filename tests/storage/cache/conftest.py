"""A cache of a mebibyte."""

from pathlib import Path

import pytest

from storage.cache.block_cache import Cache
from tests.storage.cache.cache_files import MIB


@pytest.fixture
def cache(tmp_path: Path):
    return Cache(tmp_path / "cache", MIB)
