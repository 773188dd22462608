"""Workers share the memory of a machine, so there are only as many as it holds."""

import os
from pathlib import Path

import pytest

from thresher.core import InputError
from thresher.pipeline.engine.local.worker_pool import MIN_MEMORY, most_workers
from thresher.pipeline.open_project import OpenProject


def test_more_workers_than_the_memory_holds_are_refused_before_one_starts(tmp_path: Path):
    (tmp_path / "thresher.toml").write_text("")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = most_workers()
    assert most == 1 or most * MIN_MEMORY <= memory < (most + 1) * MIN_MEMORY
    project = OpenProject.at(tmp_path)
    problem = f"--workers {most + 1}: the memory of this machine holds {most} workers at most"
    with pytest.raises(InputError, match=problem), project.worker_pool(most + 1):
        pass
    with project.worker_pool(most) as pool:
        assert pool.workers == most
