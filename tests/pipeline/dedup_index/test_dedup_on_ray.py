"""Deduplication on a Ray cluster writes the bytes that one machine writes, in increments too."""

import shutil
from dataclasses import replace

import pytest

from tests.pipeline import raycluster
from tests.pipeline.dedup_index.test_index_update import CONFIG, corpus, put_part
from tests.pipeline.steps.test_screening import EXPECTED, known_source, left_out, process_all, stored
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.ray.ray_cluster import ray_connection
from thresher.pipeline.engine.ray.ray_pool import RayWorkerPool
from thresher.pipeline.steps import dedup
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore

LITTLE = replace(CONFIG, memory=300_000)
pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def two_increments(store, pool):
    """Everything that is stored after each of two runs: the removals, the index and the manifests."""
    documents, found = corpus(120, seed=4), []
    for part in range(2):
        put_part(store, "main", f"part-{part}", documents[part * 60 :][:60])
        ran, summary = dedup.run(store, ["main"], LITTLE, pool=pool, progress=LineProgress())
        assert summary.made > 10, "so small a memory gives every stage several parts"
        assert ran.counts["near.documents"] > 0
        found.append({name: store.read(name) for name in store.list()})
    return found


def test_a_cluster_writes_the_bytes_of_one_machine(tmp_path):
    for name in ("local", "ray"):
        (tmp_path / name).mkdir()
    with local_worker_pool(2) as pool:
        expected = two_increments(DirectoryStore(tmp_path / "local"), pool)
    with raycluster.cluster(2) as nodes, ray_connection(nodes.address) as ray:
        shared = RayWorkerPool(ray, 2)
        try:
            found = two_increments(DirectoryStore(tmp_path / "ray"), shared)
        finally:
            shared.close()
    assert [sorted(each) for each in found] == [sorted(each) for each in expected]
    assert found == expected


def test_a_cluster_screens_to_the_bytes_of_one_machine(tmp_path):
    with local_worker_pool(2) as pool:
        known = known_source(tmp_path, pool)
        shutil.copytree(known.root, tmp_path / "ray")
        process_all(known, "new", pool)
    assert left_out(known) == EXPECTED
    copy = DirectoryStore(tmp_path / "ray")
    with raycluster.cluster(2) as nodes, ray_connection(nodes.address) as ray:
        shared = RayWorkerPool(ray, 2)
        try:
            process_all(copy, "new", shared)
        finally:
            shared.close()
    assert stored(copy) == stored(known)
