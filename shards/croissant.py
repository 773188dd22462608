"""Write `croissant.json`: the dataset in Croissant 1.0 of MLCommons, which dataset searches and loaders read.

It names every shard of one format with its SHA-256 (`distribution`), and the columns of a row with their types
(`recordSet`).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from thresher.shards.dataset import ShardFile

CROISSANT_NAME = "croissant.json"
FORMATS_READ = ("parquet", "hf")
"""Formats that readers of Croissant open. The first one that a dataset has is described."""
PARQUET = "application/x-parquet"
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names that a path in JSON has without quotes."""
SPACE = "␣"
FILE_SET, RECORDS = "shards", "documents"
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the specification recommends (section "JSON-LD context")."""


def croissant(
    recipe: Mapping[str, Any], shards: Sequence[ShardFile], schema: pa.Schema, license_name: str
) -> bytes:
    """Return the bytes of the file. `shards` are those of one format, and `schema` their columns.

    The fields of a structure are its `subField`s. What Croissant 1.0 has no type for is left out: decimal numbers,
    bytes, lists of lists, and lists of structures within others.
    """
    rows = sum(shard.rows for shard in shards)
    folder = shards[0].name.rpartition("/")[0]
    files: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": shard.name,
            "name": shard.name,
            "contentUrl": shard.name,
            "contentSize": f"{shard.bytes} B",
            "encodingFormat": PARQUET,
            "sha256": shard.sha256,
        }
        for shard in shards
    ]
    body = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "-".join(recipe["sources"]),
        "description": f"{rows:,} rows of {', '.join(recipe['sources'])}, written by Thresher.",
        "license": license_name,
        "distribution": [
            *files,
            {
                "@type": "cr:FileSet",
                "@id": FILE_SET,
                "name": FILE_SET,
                "encodingFormat": PARQUET,
                "includes": f"{folder}/*.parquet",
            },
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": RECORDS, "name": RECORDS, "field": list(_fields(schema))}
        ],
    }
    return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()


def _fields(schema: pa.Schema) -> Iterator[dict[str, Any]]:
    for field in schema:
        yield from _field(f"{RECORDS}/{field.name}", field, _Place(column=field.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the values of a field lie."""

    column: str
    path: tuple[str, ...] = ()
    """Names of the structure's fields that lead to the values; empty for the column itself."""
    in_list: bool = False
    """Whether each row has a list of the structures."""

    def of(self, name: str, *, in_list: bool) -> "_Place":
        return _Place(column=self.column, path=(*self.path, name), in_list=self.in_list or in_list)

    @property
    def source(self) -> dict[str, Any]:
        found: dict[str, Any] = {"fileSet": {"@id": FILE_SET}, "extract": {"column": self.column}}
        if self.path:
            found["transform"] = {"jsonPath": ".".join(map(_path_name, self.path))}
        return found


def _field(identity: str, field: "pa.Field[Any]", place: _Place) -> Iterator[dict[str, Any]]:
    """Yield the description of a field, or nothing if Croissant has no type for its values."""
    kind: Any = field.type
    is_list = pa.types.is_list(kind)
    inner = kind.value_type if is_list else kind
    name = identity.removeprefix(f"{RECORDS}/")
    # Readers refuse white space in an identity.
    head = {"@type": "cr:Field", "@id": re.sub(r"\s", SPACE, identity), "name": name}
    repeated = {"repeated": True} if is_list else {}
    if pa.types.is_struct(inner):
        if is_list and place.in_list:
            return  # a reader gets the values of all structures of a row side by side, in one list
        parts = [
            part
            for each in inner
            for part in _field(f"{identity}/{each.name}", each, place.of(each.name, in_list=is_list))
        ]
        if parts:
            yield {**head, **repeated, "subField": parts}
    elif named := _type_name(inner):
        # In a list of structures, `repeated` belongs to the list.
        yield {**head, "dataType": named, **({} if place.in_list else repeated), "source": place.source}


def _path_name(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _type_name(kind: pa.DataType) -> str:
    """Return the type of values, or an empty text if Croissant has none for them."""
    tests = (
        (pa.types.is_boolean, "sc:Boolean"),
        (pa.types.is_integer, "sc:Integer"),
        (pa.types.is_floating, "sc:Float"),
        (pa.types.is_string, "sc:Text"),
        (pa.types.is_timestamp, "sc:DateTime"),
        (pa.types.is_date, "sc:Date"),
    )
    return next((name for test, name in tests if test(kind)), "")
