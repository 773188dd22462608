"""The texts that a model is trained on: files, or documents of a project by their verdicts.

A source is written as a path (`good.jsonl`, also with `.gz`, `.bz2` or `.zst`; `.txt` has a text a line), or as
`docs:NAME`, `kept:NAME` or `dropped:NAME` for the processed documents of a crawl or ingest. `kept:NAME/SET` takes the
verdicts of a named set (`thresher judge`), so what any preset keeps can be an example.
"""

import heapq
import io
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from thresher.core import InputError
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps.verdicts.verdict_sets import judged_parts
from thresher.storage import tables
from thresher.storage.inputs.whole_file import open_whole, plain_name

KINDS = ("docs", "kept", "dropped")


class Example(NamedTuple):
    """A text, and its label if the source has labels."""

    text: str
    label: str = ""


def read_texts(spec: str, project: OpenProject | None, label_field: str = "") -> Iterator[Example]:
    """Yield the texts of a source that are not blank. Raise `InputError` if it cannot be read, or if there are none."""
    kind, colon, name = spec.partition(":")
    found = (
        _documents(kind, name, spec, project) if colon and kind in KINDS else _file(Path(spec), label_field)
    )
    is_empty = True
    for each in found:
        if each.text.strip():
            is_empty = False
            yield each
    if is_empty:
        raise InputError(f"{spec}: there are no texts")


def sample(examples: Iterable[Example], most: int) -> list[Example]:
    """Return at most `most` different texts. Which ones follows from the texts alone, and not from their order."""
    different = {each.text: each for each in heapq.nsmallest(most, examples, key=_place)}
    return sorted(different.values(), key=_place)


def _place(example: Example) -> tuple[int, Example]:
    return xxhash.xxh3_64_intdigest(example.text.encode(errors="surrogatepass"), 2), example


def _documents(kind: str, name: str, spec: str, project: OpenProject | None) -> Iterator[Example]:
    if project is None:
        raise InputError(f"{spec}: there is no project here; add --project DIR")
    source, _, verdict_set = name.partition("/")
    if not source:
        raise InputError(f"{spec}: name a crawl or an ingest, such as {kind}:main")
    count = 0
    for part in judged_parts(project.store, source, verdict_set):
        judged = tables.read(project.store, part.verdicts, tables.columns(tables.VERDICTS, "id", "keep"))
        kept = dict(zip(judged["id"].to_pylist(), judged["keep"].to_pylist(), strict=True))
        rows = tables.read(project.store, part.documents, tables.columns(tables.DOCUMENTS, "id", "text"))
        for id_, text in zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True):
            count += 1
            if text is not None and (kind == "docs" or kept[id_] == (kind == "kept")):
                yield Example(text=text)
    if not count:
        raise InputError(
            f"{spec}: {source!r} has no processed documents; run `thresher process {source}` first"
        )


def _file(path: Path, label_field: str) -> Iterator[Example]:
    name = plain_name(path.name)
    if not name.endswith((".jsonl", ".txt")):
        kinds = ", ".join(f"{kind}:NAME" for kind in KINDS)
        raise InputError(
            f"{path}: give a .jsonl or .txt file, also with .gz, .bz2 or .zst, or one of {kinds}"
        )
    with open_whole(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig") as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield (
                        _row(line, label_field, f"{path}, line {number}")
                        if name.endswith(".jsonl")
                        else Example(text=line)
                    )
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8") from None


def _row(line: str, label_field: str, where: str) -> Example:
    try:
        row: Any = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})") from None
    except RecursionError:
        raise InputError(f"{where}: not JSON that can be read: it is nested too deeply") from None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise InputError(f"{where}: it must be an object with a string `text`")
    if not label_field:
        return Example(text=row["text"])
    if label_field not in row:
        raise InputError(f"{where}: it has no `{label_field}`, which is the label of its text")
    return Example(text=row["text"], label=checked_label(row[label_field], f"{where}: `{label_field}`"))


LABEL = re.compile(r"[^\s\0\ud800-\udfff]{1,200}")
"""A label as a model file can hold it: its end is a NUL, and it is UTF-8."""


def checked_label(label: object, where: str) -> str:
    """Return a label. Raise `InputError`, which begins with `where`, if it is none that a model can hold."""
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise InputError(f"{where} must be a label of at most 200 characters without spaces, such as de")
    return label
