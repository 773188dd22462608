"""`examples/train.py`: killed, and continued with another number of ranks, the losses are those of one process."""

import os
import signal
import subprocess

import numpy as np
import pytest

from tests.end_to_end.conftest import ROOT
from tests.shards.loader.made_export import make_export
from tests.storage.s3server import free_ports
from tests.torchenv import environment, torch_python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

VOCABULARY = 96
STEPS = 200


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """Documents with something to learn: each counts through the vocabulary in steps of its own."""
    root = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(0)
    documents = [
        ((np.arange(size) * stride + start) % VOCABULARY).astype(np.uint32)
        for size, stride, start in zip(rng.integers(8, 200, 3000), rng.integers(1, 4, 3000), rng.integers(0, VOCABULARY, 3000), strict=True)
    ]  # fmt: skip
    make_export(root, {"web": documents}, shard_documents=1000, vocabulary=VOCABULARY)
    return root


@pytest.fixture
def start(export, tmp_path, request):
    """Starts the ranks of a training."""
    interpreter = torch_python(request.config.cache)

    def run(checkpoint, world_size):
        (port,) = free_ports(1)
        return [
            subprocess.Popen(
                [interpreter, ROOT / "examples" / "train.py", export, "--checkpoint", checkpoint, "--steps", str(STEPS), "--length", "64"],
                env={
                    **environment(), "XDG_CACHE_HOME": str(tmp_path / "cache"), "RANK": str(rank), "WORLD_SIZE": str(world_size),
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                },
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(world_size)
        ]  # fmt: skip

    return run


def losses_of(lines):
    """The loss of each step, from lines such as `step 7 loss 3.141592653`."""
    words = [line.split() for line in lines]
    return {int(step): float(loss) for _, step, _, loss in words}


def finished(ranks):
    outputs = [rank.communicate(timeout=600) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * len(ranks), outputs[0][1] + outputs[-1][1]
    return losses_of(outputs[0][0].splitlines())


def test_a_killed_training_goes_on_with_another_world_size(start, tmp_path):
    whole = finished(start(tmp_path / "whole.pt", 1))
    assert len(whole) == STEPS
    assert whole[STEPS] < whole[1] / 2

    ranks = start(tmp_path / "killed.pt", 2)
    lines = [line for line, _ in zip(ranks[0].stdout, range(90), strict=False)]
    for rank in ranks:
        os.kill(rank.pid, signal.SIGKILL)
        rank.communicate()
    before = losses_of(lines)
    after = finished(start(tmp_path / "killed.pt", 3))
    assert max(before) >= min(after) - 1
    assert min(after) > 1
    for losses in (before, after):
        for step, loss in losses.items():
            assert loss == pytest.approx(whole[step], abs=1e-8), step
    assert {*before, *after} == {*whole}


def test_what_cannot_be_trained_is_refused_with_exit_code_2(tmp_path, request):
    interpreter = torch_python(request.config.cache)
    for words, world_size in (("has no manifest.json", "1"), ("batch_size=0: give a whole number", "13")):
        done = subprocess.run(
            [interpreter, ROOT / "examples" / "train.py", tmp_path, "--checkpoint", tmp_path / "run.pt"],
            env={**environment(), "RANK": "0", "WORLD_SIZE": world_size},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 2
        assert words in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
