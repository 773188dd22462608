"""Records, index lines and tables of a local file, as the tests ask for them."""

from thresher.storage import tables
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Input, stored_digest
from thresher.storage.warc import cdxj, records


def read(path, first=0, end=None, *, name="", **options):
    with path.open("rb") as file:
        yield from records.read_records(file, first, end, name=name or str(path), **options)


def rows(path):
    with path.open("rb") as file:
        yield from cdxj.read(file, name=str(path))


def sealed(store, name):
    """The object as a seal of it would name it now."""
    return Input(name=name, sha256=stored_digest(store, name))


def table(path, schema):
    store = DirectoryStore(path.parent)
    return tables.read(store, sealed(store, path.name), schema)


def cuts(whole, size, step):
    """Sizes to which a file is cut, from the first of these records on: around each of their ends, and every so many bytes."""
    ends = {each.offset + each.length for each in whole}
    near = {end + by for end in ends for by in (-1, 0, 1)}
    return sorted({*range(whole[0].offset, size + 1, step), *(cut for cut in near if cut <= size)})
