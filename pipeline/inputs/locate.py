"""Find the input files of an ingest: files, directories and object addresses, one by one as local files.

1. A directory or prefix stands for the files below it, in the order of their names. Names that start with a dot are
   skipped.
2. The name of an input does not depend on its folder: it is the name of the file, or its path below the argument. Dumps
   of Stack Exchange have the same file names for every site, so they get the name of their folder in front.
3. An object of a bucket is downloaded when its turn comes, and deleted afterwards.
4. The list of an archive in several WACZ files stands for these files, if it is named itself.
5. In a storage of Thresher, only the archive files in `warc/` are inputs. Files that were made from them are marked
   (`is_derived`).
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from thresher.core import InputError
from thresher.pipeline.wacz.wacz_list import listed_files
from thresher.storage.inputs.dumps.stackexchange import HOST
from thresher.storage.location import open_store as store_at
from thresher.storage.manifest import JSON
from thresher.storage.spool import spool_file
from thresher.storage.store import Store

S3_SCHEME = "s3://"
DERIVED_DIRECTORIES = frozenset(
    {
        *(
            "annotations",
            "commoncrawl",
            "cut-work",
            "cut_signatures",
            "cut_verdicts",
            "cuts",
            "dedup",
            "dedup-index",
            "dedup-work",
            "documents",
            "frontier",
            "lists",
        ),
        *("dropped_signatures", "judged_signatures", "judged_verdicts", "measurements"),
        *("manifests", "open", "runs", "screened", "screens", "signatures", "verdicts"),
    }
)
"""Directories of a storage that hold no archive files (docs/reference/files.md)."""


def local_place(path: Path) -> Mapping[str, JSON]:
    """Return the address of a local file."""
    return {"address": f"file:{path.resolve()}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file to ingest."""

    name: str
    """`part-0.jsonl`, or `2024/part-0.jsonl` below a directory argument."""
    open: Callable[[], AbstractContextManager[Path]]
    """Opens a local file with its bytes, for the time of a context."""
    is_from_directory: bool = False
    """Whether the argument was a directory or a prefix, and not the file itself."""
    place: Callable[[Path], Mapping[str, JSON]] = local_place
    """Returns where the file lies that was opened at that path: address, and entity tag in a bucket."""
    local: Path | None = None
    """Its path, if it lies on this machine."""
    is_derived: bool = False
    """Whether it lies in a storage of Thresher and is not an archive file but, for example, a table or a Manifest."""


def locate_inputs(arguments: Iterable[str | Path]) -> Iterator[InputFile]:
    """Yield every file of the arguments. Raise `InputError` if an argument names nothing, or has no file below it."""
    for argument in map(str, arguments):
        if argument.startswith(S3_SCHEME):
            yield from _objects(argument)
        elif files := listed_files(Path(argument)):
            yield from (_file(file, file.name) for file in files)
        elif Path(argument).is_file():
            yield _file(Path(argument), Path(argument).name)
        else:
            yield from _files(argument)


def _files(argument: str) -> Iterator[InputFile]:
    path = Path(argument)
    if path.is_dir():
        count = 0
        for file, is_derived in _walk(path):
            count += 1
            yield _file(
                file, file.relative_to(path).as_posix(), is_from_directory=True, is_derived=is_derived
            )
        if not count:
            raise InputError(f"ingest {argument}: there is no file in this directory")
        return
    pattern = path.relative_to(path.anchor).as_posix()
    matches = sorted((match, match.name) for match in Path(path.anchor).glob(pattern) if match.is_file())
    if not matches:
        raise InputError(f"ingest {argument}: no such file")
    for local, name in matches:
        yield _file(local, name)


def _walk(directory: Path, is_derived: bool = False) -> Iterator[tuple[Path, bool]]:
    """Yield the files in the order of an object store: a directory sorts by its name with the slash."""
    with os.scandir(directory) as scan:
        entries = sorted(
            (f"{entry.name}/" if entry.is_dir() else entry.name, Path(entry.path)) for entry in scan
        )
    names = {name for name, _ in entries}
    derived = DERIVED_DIRECTORIES if {"manifests/", "warc/"} <= names else frozenset[str]()
    for name, path in entries:
        if name.startswith("."):
            continue
        if name.endswith("/"):
            if path.resolve() not in (directory.resolve(), *directory.resolve().parents):
                yield from _walk(path, is_derived or name[:-1] in derived)
        elif path.is_file():
            yield path, is_derived


def _file(path: Path, name: str, *, is_from_directory: bool = False, is_derived: bool = False) -> InputFile:
    folder = path.absolute().parent.name
    if "/" not in name and HOST.fullmatch(folder):
        name = f"{folder}/{name}"
    return InputFile(
        name=name,
        open=partial(_local_path, path),
        local=path,
        is_from_directory=is_from_directory,
        is_derived=is_derived,
    )


@contextmanager
def _local_path(path: Path) -> Iterator[Path]:
    yield path


def _objects(address: str) -> Iterator[InputFile]:
    root, _, prefix = address.rpartition("/")
    if root == S3_SCHEME.removesuffix("/"):  # a bucket alone
        root, prefix = address, ""
    bucket = store_at(root, Path(), key="ingest")
    is_one = bool(prefix) and bucket.exists(prefix)
    directory = f"{prefix}/" if prefix and not prefix.endswith("/") else prefix
    is_storage = not is_one and all(
        next(bucket.list(f"{directory}{name}/"), None) for name in ("manifests", "warc")
    )
    count = 0
    for name in [prefix] if is_one else bucket.list(prefix):
        count += 1
        top, _, _ = name.removeprefix(directory).partition("/")
        yield InputFile(
            name=name,
            open=partial(_download, bucket, name),
            place=partial(_object_place, bucket, name),
            is_from_directory=not is_one,
            is_derived=is_storage and name.startswith(directory) and top in DERIVED_DIRECTORIES,
        )
    if not count:
        raise InputError(f"ingest {address}: there is no object under this address")


def _object_place(bucket: Store, name: str, _: Path) -> Mapping[str, JSON]:
    return {"address": f"{bucket.uri}/{name}", "etag": bucket.stamp(name)}


@contextmanager
def _download(bucket: Store, name: str) -> Iterator[Path]:
    with spool_file(name) as path:
        with bucket.open(name) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        yield path
