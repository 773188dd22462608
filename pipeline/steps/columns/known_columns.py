"""`KnownColumns`: which columns the documents of some sources have, and where each of them lies.

A name means the first of these that has it:
1. a column of the documents (`storage.tables.DOCUMENTS`);
2. a measurement, which the documents of all sources have;
3. a column of an input, kept by `ingest`; `input.NAME` means it whatever else has the name, and `NAME.FIELD` is a field
   of a structure;
4. a column of an annotation: `COLUMN`, or `ANNOTATION.COLUMN` if several annotations have one of that name;
   `annotation.ANNOTATION.COLUMN` means it whatever else has the name;
5. the size of the cluster of duplicates (`cluster_size`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import pyarrow as pa

from thresher.core import InputError
from thresher.pipeline.steps.annotations.annotation_tables import annotation_schemas
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.shards.mix import CLUSTER_SIZE, nearest
from thresher.storage import tables
from thresher.storage.columns.column_paths import column_path, value_type
from thresher.storage.columns.kept_names import FOLDER
from thresher.storage.columns.kept_rows import RECORD_OFFSET
from thresher.storage.columns.kept_table import kept_schema
from thresher.storage.columns.united_types import Field, type_in_words, united_schema
from thresher.storage.store import Store

INPUT_PREFIX = "input."
ANNOTATION_PREFIX = "annotation."
MAX_SHOWN = 60
"""Names that a message lists."""

Origin = Literal["document", "measurement", "input", "annotation", "cluster"]


class Column(NamedTuple):
    """One column of documents, wherever it lies."""

    name: str
    """As the user wrote it."""
    origin: Origin
    path: tuple[str, ...]
    """Its name in its table, and the names of the fields of structures that lead to it."""
    field: Field
    """Its name in the table, its type there, and whether it holds JSON text."""
    annotation: str = ""
    """The annotation that it is a column of."""

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return value_type(self.field.type, self.path)

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, or lists of texts."""
        kind = self.type
        return _is_string(kind) or (pa.types.is_list(kind) and _is_string(kind.value_type))

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers, or true and false."""
        kind = self.type
        return (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_boolean(kind)
        )

    @property
    def described(self) -> str:
        """Its type in words."""
        return type_in_words(self.field if len(self.path) == 1 else pa.field(self.name, self.type))


class KnownColumns:
    """The columns of the documents of some sources. Tables are looked at when a name needs them."""

    def __init__(self, store: Store, sources: Sequence[str]) -> None:
        self._store, self._sources = store, sources

    def find(self, name: str, where: str, others: Sequence[str] = ()) -> Column:
        """Return the column that `name` means. Raise `InputError`, which begins with `where` and lists what there is
        and the `others` that may be named there, if it means none.
        """
        if name in tables.DOCUMENTS.names:
            return Column(name, "document", (name,), tables.DOCUMENTS.field(name))
        if name == CLUSTER_SIZE:
            return Column(name, "cluster", (name,), pa.field(name, pa.int64()))
        if name in self.measurements:
            return Column(name, "measurement", (name,), pa.field(name, pa.float64()))
        found = self._input_column(name.removeprefix(INPUT_PREFIX))
        if found is None or name.startswith(ANNOTATION_PREFIX):
            found = annotation_column(self.annotations, name.removeprefix(ANNOTATION_PREFIX), where) or found
        if found is not None:
            return found._replace(name=name)
        raise InputError(f"{where}: {self.unknown(name, others)}")

    def find_beside(self, name: str, where: str) -> Column:
        """Return the column of an input or of an annotation that `name` means, whatever else has the name. Raise
        `InputError` as `find`.
        """
        found = self._input_column(name.removeprefix(INPUT_PREFIX)) or annotation_column(
            self.annotations, name.removeprefix(ANNOTATION_PREFIX), where
        )
        return self.find(f"{INPUT_PREFIX}{name}", where) if found is None else found._replace(name=name)

    def find_all(self, names: Iterable[str], where: str) -> tuple[Column, ...]:
        """Return the columns that names mean, each once. Raise `InputError` as `find`."""
        return tuple(self.find(name, where) for name in dict.fromkeys(names))

    def unknown(self, name: str, others: Sequence[str] = ()) -> str:
        """Return the message about a name that means no column."""
        known = [*(each for each in self.names if each != "text"), *others]
        listed = ", ".join(known[:MAX_SHOWN]) + (", ..." if len(known) > MAX_SHOWN else "")
        return f"documents have no column {name!r}{nearest(name, known)}; known are {listed}"

    @property
    def names(self) -> list[str]:
        """Every name that `find` knows, without fields of structures; an input's name that means another column has
        `input.` before it.
        """
        own = [*tables.DOCUMENTS.names, CLUSTER_SIZE, *self.measurements]
        taken = set(own)
        inputs = [f"{INPUT_PREFIX}{name}" if name in taken else name for name in self.inputs.names]
        taken.update(inputs)
        annotated = (
            (annotation, name) for annotation, schema in self.annotations.items() for name in schema.names
        )
        short = (
            name if name == annotation and name not in taken else f"{annotation}.{name}"
            for annotation, name in annotated
        )
        return [*own, *inputs, *(f"{ANNOTATION_PREFIX}{name}" if name in taken else name for name in short)]

    @cached_property
    def measurements(self) -> list[str]:
        """The measurements that the documents of all sources have."""
        found: list[set[str]] = []
        for source in self._sources:
            for judged in judged_parts(self._store, source):
                names = tables.column_names(self._store, judged.measurements)
                found.append(
                    {name for name in names if not name.startswith(tables.REASON_PREFIX)}
                    - set(tables.MEASUREMENTS.names)
                )
                break
        return sorted(set.intersection(*found)) if found else []

    @cached_property
    def inputs(self) -> pa.Schema:
        """The columns of the inputs of all sources, with united types."""
        every = united_schema(
            kept_schema(self._store, name)
            for source in self._sources
            for name in self._store.list(f"{FOLDER}/{source}/")
        )
        return pa.schema([field for field in every if field.name != RECORD_OFFSET])

    @cached_property
    def annotations(self) -> dict[str, pa.Schema]:
        """The columns of each annotation of the sources, with united types."""
        return annotation_schemas(self._store, self._sources)

    def _input_column(self, name: str) -> Column | None:
        found = column_path(self.inputs, name)
        return None if found is None else Column(name, "input", *found)


def annotation_column(annotations: Mapping[str, pa.Schema], name: str, where: str) -> Column | None:
    """Return the column of an annotation that `name` means, or None. Raise `InputError`, which begins with `where`, if
    it is a column of several annotations.
    """
    annotation, _, rest = name.partition(".")
    if rest and annotation in annotations and (found := column_path(annotations[annotation], rest)):
        return Column(name, "annotation", *found, annotation)
    if name in annotations and (found := column_path(annotations[name], name)):
        return Column(name, "annotation", *found, name)
    every = [
        Column(name, "annotation", *found, each)
        for each, schema in annotations.items()
        if (found := column_path(schema, name))
    ]
    if len(every) > 1:
        known = ", ".join(f"{column.annotation}.{name}" for column in every)
        raise InputError(f"{where}: {name!r} is a column of several annotations; name one of {known}")
    return every[0] if every else None


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
