"""The cut step on a Ray cluster writes the bytes that one machine writes."""

import pytest

from tests.pipeline import raycluster
from tests.pipeline.steps.cuts.cut_sources import run_cuts
from tests.pipeline.steps.cuts.test_cut_damage import BOTH, contents, put_corpus
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.engine.ray.ray_cluster import ray_connection
from thresher.pipeline.engine.ray.ray_pool import RayWorkerPool
from thresher.storage.directory_store import DirectoryStore

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_cluster_writes_the_bytes_of_one_machine(tmp_path):
    for name in ("local", "ray"):
        (tmp_path / name).mkdir()
    with local_worker_pool(2) as pool:
        stores = [put_corpus(tmp_path / name, pool) for name in ("local", "ray")]
        run_cuts(stores[0], pool, ["s"], BOTH)
    with raycluster.cluster(2) as nodes, ray_connection(nodes.address) as ray:
        shared = RayWorkerPool(ray, 2)
        try:
            run_cuts(DirectoryStore(stores[1].root), shared, ["s"], BOTH)
        finally:
            shared.close()
    assert contents(stores[1]) == contents(stores[0])
