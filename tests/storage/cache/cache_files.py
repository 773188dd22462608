"""The files of a cache, looked at from outside."""

from thresher.core import CorruptData
from thresher.storage.cache import block
from thresher.storage.cache.cache_space import disk_bytes

MIB = 1 << 20


def never():
    raise AssertionError("fetched, although it was in the cache")


def down():
    raise ConnectionError("the server is down")


def block_file(cache, key):
    name = block.name(block.encoded(key))
    return cache.directory / "blocks" / name[:2] / name


def is_kept(cache, key, data):
    """Whether the cache answers by itself, asked without counting or touching anything."""
    try:
        return block.read_block(str(block_file(cache, key)), block.encoded(key)) == data
    except (FileNotFoundError, CorruptData):
        return False


def files(cache):
    found = [*cache.directory.glob("blocks/*/*"), *cache.directory.glob("fetching/*")]
    return [path for path in found if path.is_file()]


def on_disk(cache):
    """Bytes, as `du` counts them."""
    return sum(path.stat().st_blocks * 512 for path in files(cache))


def assert_in_order(cache):
    """Nothing is half made, and the totals are those of the files."""
    lying = files(cache)
    stats = cache.stats()
    assert list(cache.directory.glob("fetching/*")) == []
    assert stats.blocks == len(lying)
    assert stats.bytes == sum(disk_bytes(path.stat().st_size) for path in lying) <= cache.max_bytes
    assert on_disk(cache) <= cache.max_bytes
