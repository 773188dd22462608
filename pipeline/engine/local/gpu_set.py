"""`GpuSet`: the GPUs that one worker of this machine sees, so that no two workers load their models on the same one.

On a Ray cluster, Ray gives a worker its GPUs and nothing here is used.
"""

import os
from dataclasses import dataclass
from pathlib import Path

VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"
"""The variable that CUDA reads: the GPUs that a process sees, with commas between them."""
DRIVER_DIRECTORY = Path("/proc/driver/nvidia/gpus")
"""Has a folder for each GPU, if NVIDIA's driver is loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSet:
    """The GPUs of the worker with this number, counted from 0."""

    worker: int

    def devices(self, count: int) -> str:
        """Return the value of `VISIBLE_GPUS` for a worker with `count` GPUs; empty if it asks for none, or if the
        machine shows none. More workers than the GPUs suffice for share them, in turn.
        """
        gpus = visible_gpus()
        if not count or not gpus:
            return ""
        first = self.worker * count
        return ",".join(dict.fromkeys(gpus[number % len(gpus)] for number in range(first, first + count)))


def visible_gpus() -> tuple[str, ...]:
    """Return the GPUs that this process may use: those of `VISIBLE_GPUS`, or all of the machine."""
    named = os.environ.get(VISIBLE_GPUS)
    if named is not None:
        return tuple(each.strip() for each in named.split(",") if each.strip())
    if not DRIVER_DIRECTORY.is_dir():
        return ()
    return tuple(str(number) for number, _ in enumerate(DRIVER_DIRECTORY.iterdir()))
