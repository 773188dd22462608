"""A Python with PyTorch, in an environment of its own: Thresher does not require it, and it is large."""

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ["torch==2.13.0", "torchdata==0.11.0"]
ROOT = Path(__file__).resolve().parents[1]


def torch_python(cache):
    """The interpreter; made on first use, then kept. The test skips where PyTorch cannot be installed."""
    directory = cache.mkdir("torch")
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = directory / "done"
        if not done.exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", directory / "env"],
                [directory / "env/bin/python", "-m", "pip", "install", "--quiet", *PACKAGES],
            ):
                made = subprocess.run(command, check=False, capture_output=True, text=True)
                if made.returncode:
                    pytest.skip(f"PyTorch cannot be installed here: {made.stderr.strip().splitlines()[-1]}")
            done.touch()
    return directory / "env" / "bin" / "python"


def environment():
    """The environment of a program that has PyTorch, and everything that Thresher needs from the tests' own one."""
    packages = Path(importlib.util.find_spec("numpy").origin).parents[1]  # type: ignore[arg-type, union-attr]
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{packages}", "OMP_NUM_THREADS": "1"}
