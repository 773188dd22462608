"""Real material that is not part of the repository."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_file(name: str) -> Path:
    """Path of a file of the shared material; the test skips where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real material is absent: shared/data/{name}")
    return path
