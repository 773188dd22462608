"""A small crawl of Common Crawl, and its server."""

import pytest

from tests.commoncrawl import write_crawl
from tests.commoncrawl_server import serve_files
from thresher.storage.directory_store import DirectoryStore


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("commoncrawl")
    return root, write_crawl(root)


@pytest.fixture
def theirs(tree):
    with serve_files(tree[0]) as serving_it:
        yield serving_it


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "data")
