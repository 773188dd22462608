"""Export of a source as WACZ, which ReplayWeb.page and other tools open without Thresher.

1. WARC files in gzip are copied as they are. Others are recompressed, one gzip member per record, because readers of
   WACZ know no Zstandard. Damaged stretches of an ingested file are left out then.
2. The list of pages has each HTML page with status 200: the time of its capture, its title, its icon if that is
   archived, and its text if `thresher process` has extracted it. A revisit has no title and no text. Requests that a
   page made while it was rendered are not listed, nor are robots.txt and sitemaps. The main page is the seed that was
   fetched first, of the first `MAX_SEEDS`.
3. Each byte of a bucket is read once: one WARC file at a time is copied to the directory of the WACZ, read there, and
   deleted. The SHA-256 of each WARC file is compared with its seal.
4. The same storage gives the same bytes. Memory holds the largest record, the index of one WARC file, the ids of all
   sitemaps, and the keys of `MAX_ICONS` icons.
5. With a limit of bytes, WARC files go into the next WACZ when one is full (`wacz_split`).
6. The records of other crawls to which revisits refer come last (`wacz_originals`). They are no pages.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO
from zipfile import BadZipFile, ZipFile

from thresher.core import CorruptData, InputError, Unavailable
from thresher.pipeline.terminal.progress import Progress
from thresher.pipeline.wacz.page_texts import PageTexts
from thresher.pipeline.wacz.wacz_index import read_rows, write_needs, write_run
from thresher.pipeline.wacz.wacz_originals import (
    GZIP_SUFFIX,
    MAX_RECORD_BYTES,
    copy_originals,
    originals_name,
    references,
    write_references,
)
from thresher.pipeline.wacz.wacz_pages import MAX_TITLE_CHARACTERS, ListedPage, ListedPages, iso_moment
from thresher.pipeline.wacz.wacz_part import FACTS_BYTES, NAME_BYTES, NO_RANK, WaczFile, WaczPart
from thresher.pipeline.wacz.wacz_split import (
    MAX_PARTS,
    PROFILE,
    part_names,
    publish_parts,
    required_parts,
    requires,
)
from thresher.storage.archive.open_files import archive_outputs, is_crawled
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import Output, manifests, stored_digest
from thresher.storage.store import Store
from thresher.storage.warc.cdxj import CdxjRow
from thresher.storage.warc.compression import gzip_member
from thresher.storage.warc.members import members

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CHUNK_BYTES = 1 << 20
WARC_SUFFIX = re.compile(r"\.warc(?:\.\w+)?$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaczOptions:
    """How a source is exported."""

    key: Path | None = None
    """File of the private key that signs."""
    max_bytes: int | None = None
    """Of one WACZ file. None makes one file of any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaczSummary:
    """The contents of the files, as counts."""

    files: tuple[str, ...]
    """Names of the WACZ files."""
    archives: int
    recompressed: int
    """Number of archives that were not gzip."""
    records: int
    """Number of records that can be looked up."""
    pages: int
    texts: int
    """Number of pages with a text."""
    originals: int
    """Number of records of other crawls, with payloads of this one's revisits."""
    missing_originals: int
    """Number of such records that are not archived any more."""
    bytes: int


ONE_FILE = WaczOptions()
LIST_HEAD_BYTES = 1 << 20
"""Bytes in which the profile of a list is searched."""


def export_wacz(
    store: Store,
    source: str,
    out: Path,
    title: str,
    progress: Progress,
    options: WaczOptions = ONE_FILE,
) -> WaczSummary:
    """Write everything that a source has sealed into `out`, which appears when it is complete. With `max_bytes`, `out`
    is the list of the WACZ files, which appear beside it just before.

    Raise `InputError` if nothing is archived, the title is too long, the directory of `out` does not exist, the key
    cannot be used, or a WARC file does not fit into `max_bytes`; `Unavailable` if a file cannot be written,
    `CorruptData` if an archive file is not as it was sealed. An existing `out` stays then; one that is no WACZ or list
    of them always stays.
    """
    sealed = [
        (*archive_outputs(manifest.outputs), is_crawled(manifest))
        for manifest in manifests(store, "archive", source)
    ]
    if not sealed:
        raise InputError(
            f"{source}: nothing is archived under that name; give the name of a crawl or an ingest"
        )
    if len(title) > MAX_TITLE_CHARACTERS:
        raise InputError(f"--title: {len(title):,} characters; give at most {MAX_TITLE_CHARACTERS:,}")
    if not out.parent.is_dir():
        raise InputError(f"{out}: there is no directory {out.parent}; create it, or give another file")
    if out.exists() and not _is_made_by_an_export(out, is_list=options.max_bytes is not None):
        raise InputError(f"{out}: this was no export before, and is not replaced; give another file")
    described = FACTS_BYTES + MAX_PARTS * (NAME_BYTES + len(json.dumps(out.stem)))
    for warc, _, _ in sealed:
        if options.max_bytes and _is_gzip(warc.name):
            _require_fit(warc.name, described + warc.bytes, options.max_bytes)
    key = None
    if options.key:
        from thresher.pipeline.wacz.wacz_signature import load_key  # noqa: PLC0415 - only a signature needs it

        key = load_key(options.key)
    progress.start("export-wacz", total=len(sealed))
    try:
        with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as directory, ExitStack() as life:
            export = _Export(store, source, options.max_bytes, described, Path(directory), life)
            for warc, index, may_refer_elsewhere in sealed:
                progress.advance(warc.name)
                export.add(warc, index, may_refer_elsewhere=may_refer_elsewhere)
            summary = export.finish(out, title or source, key)
    except OSError as error:
        raise Unavailable(
            f"{out} cannot be written ({error.strerror or error}); make room or give another file"
        ) from error
    progress.stop()
    return summary


class _Export:
    """The WACZ files that are being written."""

    def __init__(
        self,
        store: Store,
        source: str,
        max_bytes: int | None,
        described: int,
        directory: Path,
        life: ExitStack,
    ) -> None:
        self._described = described
        self._store, self._max_bytes, self._directory, self._life = store, max_bytes, directory, life
        self._listed = ListedPages(store, source)
        self._icons: dict[str, bool] = {}
        """The keys of the icons that pages name, and whether they are archived."""
        self._parts = [self._new_part(1)]
        self._archives = self._recompressed = self._records = self._pages = self._texts = 0
        self._references: list[Path] = []
        self._originals = self._missing = 0
        self._latest = ""

    def add(self, warc: Output, index: Output, *, may_refer_elsewhere: bool) -> None:
        """Add a WARC file."""
        rows = read_rows(self._store, index)
        references = self._directory / f"references-{self._archives}"
        if may_refer_elsewhere and write_references(references, rows):
            self._references.append(references)
        with self._file(warc, rows) as file:
            self._add(file, warc.name)
        self._archives += 1

    def _add(self, file: WaczFile, name: str) -> None:
        """Add a file to the last part, or to the next if that is full."""
        if self._max_bytes and self._parts[-1].bytes + file.bytes > self._max_bytes:
            _require_fit(name, self._described + file.bytes, self._max_bytes)
            self._parts[-1].add_index(self._icons)
            self._parts.append(self._new_part(len(self._parts) + 1))
        self._parts[-1].add(file)

    def _add_originals(self, name: str, ids: set[str]) -> None:
        """Add the records of these ids, which lie in an archive file of another crawl."""
        copy, run, pages, needs = (self._directory / kind for kind in ("originals", "run", "pages", "needs"))
        rows, moved = copy_originals(self._store, name, ids, copy)
        self._missing += len(ids) - len(rows)
        if rows:
            self._records += write_run(run, rows, originals_name(name), moved)
            pages.touch()
            needs.touch()
            file = WaczFile(
                name=originals_name(name),
                warc=copy,
                run=run,
                pages=pages,
                needs=needs if self._max_bytes else None,
            )
            self._add(file, name)
            self._originals += len(rows)

    def finish(self, out: Path, title: str, key: "EllipticCurvePrivateKey | None") -> WaczSummary:
        """Complete all parts, and give them their names."""
        for name, ids in references(self._references, self._directory):
            self._add_originals(name, ids)
        self._parts[-1].add_index(self._icons)
        software, created = f"thresher {version('thresher')}", iso_moment(self._latest)
        facts = {"title": title, "software": software, "created": created}
        sign = None
        if key is not None:
            from thresher.pipeline.wacz.wacz_signature import signer  # noqa: PLC0415 - only a signature needs it

            sign = signer(key, created=created, software=software)
        paths = [part.path for part in self._parts]
        names = [out.name]
        if self._max_bytes is None:
            self._parts[0].finish(facts, self._icons, sign)
            size = paths[0].stat().st_size
            paths[0].replace(out)
        else:
            names = part_names(out, len(paths))
            needs = required_parts(
                [part.payloads for part in self._parts], [part.needs for part in self._parts]
            )
            for number, part in enumerate(self._parts):
                its_title = f"{title} ({number + 1} of {len(paths)})"
                relation = requires([names[at] for at in needs[number]])
                part.finish({**facts, "title": its_title, **relation}, self._icons, sign)
            size = sum(path.stat().st_size for path in paths)
            best = min(self._parts, key=lambda part: part.rank)
            first = {"mainPageUrl": best.main_page} if best.main_page else {}
            publish_parts(out, dict(zip(names, paths, strict=True)), {**facts, **first})
        return WaczSummary(
            files=tuple(names),
            archives=self._archives,
            recompressed=self._recompressed,
            records=self._records,
            pages=self._pages,
            texts=self._texts,
            originals=self._originals,
            missing_originals=self._missing,
            bytes=size,
        )

    def _new_part(self, number: int) -> WaczPart:
        if number > MAX_PARTS:
            raise InputError(f"--split: more than {MAX_PARTS} files would be made; give a larger size")
        directory = self._directory / f"part-{number}"
        return WaczPart(
            directory, is_split=self._max_bytes is not None, described=self._described, life=self._life
        )

    @contextmanager
    def _file(self, warc: Output, rows: list[CdxjRow]) -> Iterator[WaczFile]:
        """Yield what a WACZ holds of a WARC file. Local copies are deleted with the context."""
        name, gzipped = _archive_name(warc.name), self._directory / "gzipped"
        run, pages, needs = (self._directory / kind for kind in ("run", "pages", "needs"))
        moved: dict[int, tuple[int, int]] | None = None
        with _local(self._store, warc, self._directory) as path, path.open("rb") as file:
            if not _is_gzip(warc.name):
                moved = {}
                self._recompressed += 1
                with gzipped.open("wb") as made:
                    made.writelines(_recompress(file, warc.name, moved))
            best, texts_before = None, self._texts
            with pages.open("w", encoding="ascii") as listed:
                for page in self._pages_of(file, warc, rows):
                    page.write(listed, self._icons)
                    if best is None or page.rank < best.rank:
                        best = page
            self._records += write_run(run, rows, name, moved)
            if self._max_bytes:
                write_needs(needs, rows)
            yield WaczFile(
                name=name,
                warc=path if moved is None else gzipped,
                run=run,
                pages=pages,
                needs=needs if self._max_bytes else None,
                main_page=best.url if best else "",
                rank=best.rank if best else NO_RANK,
                has_text=self._texts > texts_before,
            )
            gzipped.unlink(missing_ok=True)

    def _pages_of(self, file: BinaryIO, warc: Output, rows: list[CdxjRow]) -> Iterator[ListedPage]:
        texts = PageTexts(self._store, warc)
        for row in sorted(rows, key=lambda row: row.offset):
            self._latest = max(self._latest, row.timestamp)
            page = self._listed.page(file, row, texts.at)
            if page is not None:
                self._pages += 1
                self._texts += page.has_text
                yield page

    def __repr__(self) -> str:
        return f"<export of {self._archives} WARC files so far>"


def _require_fit(name: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InputError(
            f"--split: {name} needs a WACZ of {size:,} bytes or more; give a larger size, and set crawler.warc_bytes"
            " if later crawls are to have smaller files"
        )


def _is_made_by_an_export(out: Path, *, is_list: bool) -> bool:
    if not out.is_file():
        return False
    if is_list:
        with out.open("rb") as file:
            return PROFILE.encode() in file.read(LIST_HEAD_BYTES)
    try:
        with ZipFile(out) as package:
            return "datapackage.json" in package.namelist()
    except BadZipFile:
        return False


def _is_gzip(name: str) -> bool:
    return name.endswith(GZIP_SUFFIX)


def _archive_name(name: str) -> str:
    return f"{WARC_SUFFIX.sub('', name.rpartition('/')[2])}.warc.gz"


@contextmanager
def _local(store: Store, warc: Output, directory: Path) -> Iterator[Path]:
    """Yield a local path of the archive file. A copy of a file in a bucket is deleted with the context.

    Raise `CorruptData` if the file is not as it was sealed.
    """
    copy = directory / "copy"
    if isinstance(store, DirectoryStore) and store.path(warc.name).exists():
        path, sha256 = store.path(warc.name), stored_digest(store, warc.name)
    else:
        path, sha256 = copy, _copy(store, warc.name, copy)
    if sha256 != warc.sha256:
        raise CorruptData(
            f"{warc.name} is not as it was sealed (its SHA-256 differs); `thresher verify` names what is damaged"
        )
    yield path
    copy.unlink(missing_ok=True)


def _copy(store: Store, name: str, path: Path) -> str:
    """Copy an object to a local file, and return its SHA-256."""
    sha256 = hashlib.sha256()
    with store.open(name) as there, path.open("wb") as here:
        while data := there.read(CHUNK_BYTES):
            here.write(data)
            sha256.update(data)
    return sha256.hexdigest()


def _recompress(file: BinaryIO, name: str, moved: dict[int, tuple[int, int]]) -> Iterator[bytes]:
    """Yield the records as gzip members. Put the new offset and length of each into `moved`, by its old offset."""
    # In an uncompressed file the end of a record is not part of its member.
    end = b"\r\n\r\n" if name.endswith(".warc") else b""
    offset = 0
    for each in members(file, 0, None, MAX_RECORD_BYTES, name=name):
        if each.problem is None and not each.is_whole:
            raise InputError(f"{name} at {each.offset}: a record of more than {MAX_RECORD_BYTES:,} bytes")
        if each.data:
            data = gzip_member(each.data + end)
            moved[each.offset] = (offset, len(data))
            offset += len(data)
            yield data
