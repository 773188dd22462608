"""Records, index lines and tables of a local file, as the tests ask for them."""

from storage import cdxj, records, tables
from storage.files import Files


def read(path, first=0, end=None, *, name="", **options):
    with path.open("rb") as file:
        yield from records.read(file, first, end, name=name or str(path), **options)


def rows(path):
    with path.open("rb") as file:
        yield from cdxj.read(file, name=str(path))


def table(path, schema):
    return tables.read(Files(path.parent), path.name, schema)
