"""Loaders of others, which open what an export writes, in an environment of their own: they bring PyTorch."""

import fcntl
import subprocess
import sys

import pytest

PACKAGES = ["webdataset>=1,<2", "mosaicml-streaming>=0.10,<1", "megatron-core>=0.12,<1", "zstandard>=0.23,<1"]


def loaders(cache):
    """The Python that has them; made on first use, then kept."""
    directory = cache.mkdir("loaders")
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
                    pytest.skip(
                        f"the loaders cannot be installed here: {made.stderr.strip().splitlines()[-1]}"
                    )
            done.touch()
    return directory / "env" / "bin" / "python"
