"""Work of the tests of preparations: a worker process remembers what it loaded."""

import os

from thresher.core import InputError
from thresher.pipeline.engine.task import PartOutputs

LOADED: dict[str, bytes] = {}


def load(store, names):
    """Load objects by way of a path in memory, which no confined process can make."""
    for name in names:
        if name == "bad":
            raise InputError("the model is bad")
        os.close(os.memfd_create("model"))
        LOADED[name] = store.read(name)


def write_loaded(store, step, part, watch):
    """Write what is loaded, and the process id."""
    watch.start_item(0)
    text = b" ".join([*LOADED.values(), str(os.getpid()).encode()])
    return PartOutputs(counts={}, outputs=(store.write(part.writes[0], 1, lambda file: file.write(text)),))


def load_when_confined(store, step, part, watch):
    """Try to load when it is too late."""
    watch.start_item(0)
    load(store, ["one"])
    raise AssertionError
