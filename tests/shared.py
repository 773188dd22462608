"""Real material that is not part of the repository."""

import tarfile
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_file(name: str) -> Path:
    """Path of a file of the shared material; the test skips where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real material is absent: shared/data/{name}")
    return path


def read_tar_file(archive: tarfile.TarFile, member: tarfile.TarInfo | str) -> bytes:
    """Content of a file of an archive. Raises `ValueError` if the member is a folder or a link."""
    file = archive.extractfile(member)
    if file is None:
        raise ValueError(f"{member} is no file")
    return file.read()
