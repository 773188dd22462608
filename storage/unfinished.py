"""Unfinished archive files: where they lie, what they are called, and how one is published.

An open file lies in `warc/<crawl>/.open/` under its final name, `<crawl>-<writer>-<serial>.warc.gz`, so that a
`RecordRef` into it never changes. It is published as three objects, each put once, in this order: the WARC, its
CDXJ, its Manifest. Whoever finds this half done does it again, with the same bytes.
"""

import re
from collections import Counter
from pathlib import Path

from core import CorruptData
from storage import cdxj
from storage.files import Files, sync, writing
from storage.manifest import JSON, Manifest, Output, digest, fingerprint, load, manifest_name, seal

STEP_NAME = "archive"
STEP = f"{STEP_NAME}@1"
RECIPE: dict[str, JSON] = {"format": "WARC/1.1"}
OPEN = ".open"
SUFFIX, INDEX_SUFFIX = ".warc.gz", ".cdxj.gz"
WRITER_AND_SERIAL = re.compile(r"(.+)-(\d{5,})")


def open_directory(files: Files, crawl: str) -> Path:
    """Where the files being written of a crawl lie."""
    return files.path(f"warc/{crawl}") / OPEN


def open_files(files: Files, crawl: str) -> list[Path]:
    """The files being written of a crawl, or left so, in the order of their names."""
    return sorted(open_directory(files, crawl).glob(f"{crawl}-*{SUFFIX}"))


def writer_and_serial(crawl: str, name: str) -> tuple[str, int]:
    """What a file name says; no writer where it is none of ours."""
    found = WRITER_AND_SERIAL.fullmatch(name.removesuffix(SUFFIX).removeprefix(f"{crawl}-"))
    return (found[1], int(found[2])) if found else ("", 0)


def publish(
    files: Files, crawl: str, path: Path, whole: Path, *, lines: list[str], counts: Counter[str], sha256: str
) -> Manifest:
    """Publish `whole` under the name of the open file at `path`, its index and its Manifest; then remove `path`.

    Where it raises, it may be called again. Raises `CorruptData` where other bytes are published already.
    """
    stem = path.name.removesuffix(SUFFIX)
    sealed = manifest_name(STEP_NAME, f"{crawl}/{stem}")
    if files.exists(sealed) and not path.exists():
        return load(files, sealed)
    name, index = f"warc/{crawl}/{path.name}", f"warc/{crawl}/{stem}{INDEX_SUFFIX}"
    if not files.adopt(whole, name) and digest(files.path(name)) != sha256:
        raise CorruptData(
            f"{name} is published with other bytes than {path} has; compare them and remove one"
        )
    with files.stage(index) as staged:
        cdxj.write(staged.path, lines)
        staged.publish()
    manifest = Manifest(
        step=STEP,
        part=f"{crawl}/{stem}",
        fingerprint=fingerprint(STEP, RECIPE, ()),
        recipe=RECIPE,
        inputs=(),
        outputs=(
            Output(name=name, bytes=files.size(name), sha256=sha256, rows=counts.total()),
            Output(name=index, bytes=files.size(index), sha256=digest(files.path(index)), rows=len(lines)),
        ),
        counts=counts,
    )
    seal(files, manifest)
    with writing(files.root):
        path.unlink(missing_ok=True)
        sync(path.parent)
    return manifest
