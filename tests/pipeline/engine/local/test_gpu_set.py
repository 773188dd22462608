"""Each worker of a machine sees GPUs of its own, as long as there are enough."""

import pytest

from thresher.pipeline.engine.local import gpu_set
from thresher.pipeline.engine.local.gpu_set import GpuSet, visible_gpus


@pytest.mark.parametrize(
    ("visible", "count", "seen"),
    [
        ("0,1,2,3", 1, ["0", "1", "2"]),
        ("4,5", 1, ["4", "5", "4"]),
        ("0,1,2,3", 2, ["0,1", "2,3", "0,1"]),
        ("0", 2, ["0", "0", "0"]),
        ("GPU-a, GPU-b", 1, ["GPU-a", "GPU-b", "GPU-a"]),
        ("0,1", 0, ["", "", ""]),
        ("", 1, ["", "", ""]),
    ],
)
def test_workers_see_gpus_in_turn(monkeypatch, visible, count, seen):
    monkeypatch.setenv(gpu_set.VISIBLE_GPUS, visible)
    assert [GpuSet(worker=number).devices(count) for number in range(3)] == seen


def test_all_gpus_of_the_driver_are_visible_unless_a_variable_names_some(monkeypatch, tmp_path):
    monkeypatch.delenv(gpu_set.VISIBLE_GPUS, raising=False)
    monkeypatch.setattr(gpu_set, "DRIVER_DIRECTORY", tmp_path / "gpus")
    assert visible_gpus() == ()
    for name in ("0000:1b:00.0", "0000:43:00.0"):
        (tmp_path / "gpus" / name).mkdir(parents=True)
    assert visible_gpus() == ("0", "1")
    monkeypatch.setenv(gpu_set.VISIBLE_GPUS, "1")
    assert visible_gpus() == ("1",)
