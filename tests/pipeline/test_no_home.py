"""A user without a home directory, as in a container, has no cache."""

from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.pipeline.open_project import OpenProject

TOML = """
[project]
contact = "mailto:test@example.org"
storage = "{}"
"""


@pytest.fixture
def homeless(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)


def test_a_storage_on_disk_needs_none(tmp_path, homeless):
    (tmp_path / "thresher.toml").write_text(TOML.format("file:data"), "utf-8")
    project = OpenProject.at(tmp_path)
    assert project.cache is None
    assert not [*project.store.list("")]


def test_a_bucket_says_how_to_go_without(tmp_path, homeless):
    (tmp_path / "thresher.toml").write_text(TOML.format("s3://bucket/data"), "utf-8")
    with pytest.raises(InputError, match=r'no home directory .* set XDG_CACHE_HOME, or project.cache = "0"'):
        _ = OpenProject.at(tmp_path).store
