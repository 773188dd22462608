"""A Python with PyTorch, in an environment of its own: Thresher does not require it, and it is large."""

import importlib.util
import os
from pathlib import Path

from tests.environments import installed

PACKAGES = ["torch==2.13.0", "torchdata==0.11.0"]
ROOT = Path(__file__).resolve().parents[1]


def torch_python(cache):
    """The interpreter; made on first use, then kept. The test skips where PyTorch cannot be installed."""
    return installed(cache, "torch", PACKAGES, "PyTorch") / "python"


def environment():
    """The environment of a program that has PyTorch, and everything that Thresher needs from the tests' own one."""
    packages = Path(importlib.util.find_spec("numpy").origin).parents[1]  # type: ignore[arg-type, union-attr]
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{packages}", "OMP_NUM_THREADS": "1"}
