"""WARC files of an `ingest` are hashed and read for their index ahead of their turn, in worker processes.

Nothing is stored here: whoever seals a file compares the digest, and reads the file itself if nothing was prepared.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Failure, InputError
from thresher.pipeline.inputs.ingest_workers import AHEAD, IngestWorkers
from thresher.pipeline.inputs.locate import InputFile
from thresher.storage.archive.open_files import STEP_NAME
from thresher.storage.archive.reseal import ArchiveContents, read_contents
from thresher.storage.inputs.input_kinds import COMPRESSED
from thresher.storage.manifest import digest, load_manifest, manifest_name
from thresher.storage.store import Store

ENDINGS = (".warc", ".wat", ".wet")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWarc:
    """What a worker has found in a WARC file."""

    sha256: str
    name: str
    """The name in the storage that its index says."""
    contents: ArchiveContents


def prepare(job: tuple[Path, str]) -> PreparedWarc | None:
    """Return what a file holds, which is to be stored under a name; None if it is no WARC that can be copied."""
    path, name = job
    try:
        with path.open("rb") as file:
            return PreparedWarc(sha256=digest(path), name=name, contents=read_contents(file, name))
    except (InputError, Failure, OSError):
        return None


def with_prepared(
    files: Iterable[InputFile], source: str, workers: IngestWorkers
) -> Iterator[tuple[InputFile, PreparedWarc | None]]:
    """Yield the files in their order, each with what was found in it."""
    ahead: deque[tuple[InputFile, Future[PreparedWarc | None] | None]] = deque()
    refused: InputError | None = None
    following = iter(files)
    while True:
        try:
            each = next(following, None)
        except InputError as error:  # an argument that names no file does not lose the files before it
            each, refused = None, error
        if each is None:
            break
        ahead.append((each, _submit(each, source, workers)))
        if len(ahead) > AHEAD * workers.workers or workers.workers == 1:
            yield _result(*ahead.popleft())
    while ahead:
        yield _result(*ahead.popleft())
    if refused is not None:
        raise refused


def free_part_name(store: Store, source: str, name: str) -> str:
    """Return the part name for a WARC file: its name without the suffixes of WARC and compression.

    If another file has that part name and differs only in these suffixes, keep them.
    """
    short = stem = stem_of(name)
    for ending in COMPRESSED:
        short = short.removesuffix(ending)
    for part in (f"{source}/{short.removesuffix('.warc')}", f"{source}/{stem}"):
        sealed = manifest_name(STEP_NAME, part)
        if not store.exists(sealed):
            return part
        if load_manifest(store, sealed).recipe.get("ingested") == name:
            break
    raise InputError(f"ingest {name}: {source} holds another file of that name; rename one of them")


def stem_of(name: str) -> str:
    """Return the name of an input as a part of names in the storage."""
    return name.replace("/", "--")


def _submit(file: InputFile, source: str, workers: IngestWorkers) -> "Future[PreparedWarc | None] | None":
    short = file.name
    for ending in COMPRESSED:
        short = short.removesuffix(ending)
    if workers.workers == 1 or file.local is None or not short.endswith(ENDINGS):
        return None
    suffix = file.name.removeprefix(short)
    name = f"warc/{source}/{stem_of(short.removesuffix('.warc'))}.warc{suffix}"
    return workers.submit(prepare, (file.local, name))


def _result(
    file: InputFile, future: "Future[PreparedWarc | None] | None"
) -> tuple[InputFile, PreparedWarc | None]:
    return file, None if future is None else future.result()
