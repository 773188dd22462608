"""Read the WARC files in a WACZ, record by record, after checking every digest that the WACZ states.

Specification: WACZ 1.1.1. `datapackage.json` names the files and their digests, `datapackage-digest.json` holds the
digest of `datapackage.json`.
"""

import hashlib
import io
import json
import lzma
import re
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import BufferedReader
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NoReturn, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from thresher.core import InputError
from thresher.storage.inputs import warc_input
from thresher.storage.inputs.decompression import max_unpacked_bytes, unpacked_too_large
from thresher.storage.inputs.entry import CopiedRecord, UnusableRecord
from thresher.storage.inputs.file_slice import FileSlice

PACKAGE, SEAL = "datapackage.json", "datapackage-digest.json"
ARCHIVE = re.compile(r"archive/.*\.warc(?:\.gz|\.zst)?")
MAX_PACKAGE_LENGTH = 64 << 20
"""Largest description in bytes."""
FAULTS = (
    BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    LookupError,
    RuntimeError,
    ValueError,
)
"""Exceptions that `zipfile` raises if a ZIP file is broken.

It raises RuntimeError if a file is encrypted or if its compression is not supported.
"""
HEADER = 30
"""Bytes of a ZIP's local file header before the name (APPNOTE 6.3.10, section 4.3.7)."""


def read(file: BinaryIO, name: str, first: int = 0) -> Iterator[CopiedRecord | UnusableRecord]:
    """Yield an item for each record of the WARC files in a WACZ, in the order of their names.

    Raise `InputError`, which says what is wrong, if the file is not a valid WACZ.
    """
    try:
        with ZipFile(file) as package:
            for place, item in enumerate(_records(file, package, name)):
                if place >= first:
                    yield replace(item, place=place)
    except FAULTS as error:
        raise InputError(
            f"{name} is no valid WACZ: {' '.join(str(error).split())}; get the file again"
        ) from None


def archive_files(file: BinaryIO, package: ZipFile, name: str) -> Iterator[tuple[str, BinaryIO]]:
    """Yield the WARC files of an open WACZ, each with its name below `archive/`, after checking every digest.

    A file lies in place, or in a temporary file if the WACZ has it compressed. Raise `InputError` as `read`, and one of
    `FAULTS` if the ZIP file is broken.
    """
    for info in _check_digests(package, name, file.seek(0, io.SEEK_END)):
        if info.compress_type == ZIP_STORED:
            file.seek(info.header_offset + 26)
            lengths = struct.unpack("<HH", file.read(4))
            part = FileSlice(file, info.header_offset + HEADER + sum(lengths), info.file_size)
            yield info.filename.removeprefix("archive/"), cast("BinaryIO", BufferedReader(part))
        else:
            whole = TemporaryFile()  # noqa: SIM115 - the caller closes it
            with package.open(info) as packed:
                shutil.copyfileobj(packed, whole)
            yield info.filename.removeprefix("archive/"), cast("BinaryIO", whole)


def _records(file: BinaryIO, package: ZipFile, name: str) -> Iterator[CopiedRecord | UnusableRecord]:
    for archive, part in archive_files(file, package, name):
        with part:
            yield from warc_input.read(part, f"archive/{archive}")


def _check_digests(package: ZipFile, name: str, size: int) -> list[ZipInfo]:
    """Return the WARC files of the WACZ. Raise `InputError` if any file differs from its description."""
    files = {info.filename: info for info in package.infolist()}
    if sum(info.file_size for info in files.values()) > max_unpacked_bytes(size):
        raise unpacked_too_large(name)
    if PACKAGE not in files:
        raise InputError(f"{name} is a ZIP file and no WACZ: there is no {PACKAGE} in it; unpack it")
    described = _description(package, files[PACKAGE], name)
    resources = described.get("resources")
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        _refuse(name, f"{PACKAGE} lists no resources")
    if SEAL in files:
        _compare(package, files, PACKAGE, str(_description(package, files[SEAL], name).get("hash", "")), name)
    for resource in resources:
        path = resource.get("path")
        if not isinstance(path, str) or path not in files:
            _refuse(name, f"{PACKAGE} names {path}, which is not in it")
        _compare(package, files, path, _stated_digest(resource), name)
    archives = [files[path] for path in sorted(files) if ARCHIVE.fullmatch(path)]
    if not archives:
        _refuse(name, "there is no WARC file in its archive/")
    return archives


def _description(package: ZipFile, info: ZipInfo, name: str) -> Mapping[str, Any]:
    try:
        found = json.loads(package.read(info)) if info.file_size <= MAX_PACKAGE_LENGTH else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        _refuse(name, f"{info.filename} is no JSON object")
    return found


def _stated_digest(resource: Mapping[str, Any]) -> str:
    """Return the stated digest as `sha256:HEX`. Up to WACZ 1.0, digest and algorithm are separate fields."""
    stats = resource.get("stats")
    if isinstance(stats, dict):
        return f"{resource.get('hashing', 'sha256')}:{stats.get('hash', '')}"
    return str(resource.get("hash", ""))


def _compare(package: ZipFile, files: Mapping[str, ZipInfo], path: str, stated: str, name: str) -> None:
    algorithm, _, digest = stated.rpartition(":")
    if algorithm not in {"sha256", "md5"}:
        _refuse(name, f"{path} has the digest {stated!r}, which is neither sha256 nor md5")
    computed = hashlib.new(algorithm, usedforsecurity=False)
    with package.open(files[path]) as file:
        while piece := file.read(1 << 20):
            computed.update(piece)
    if computed.hexdigest() != digest.lower():
        _refuse(name, f"{path} is not as {PACKAGE} has it (its {algorithm} differs)")


def _refuse(name: str, fault: str) -> NoReturn:
    raise InputError(f"{name} is no valid WACZ: {fault}; get the file again")
