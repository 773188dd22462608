"""A command that ends before one of its changes of the storage, as SIGKILL would end it."""

import multiprocessing
import os

from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.storage.directory_store import DirectoryStore


class StoppingStore(DirectoryStore):
    """Ends the process before one of its changes."""

    def __init__(self, root, left):
        super().__init__(root)
        self.left = left
        """A list of one number: the changes that are left."""

    def delete(self, name):
        self._count()
        super().delete(name)

    def stage(self, name):
        self._count()
        return super().stage(name)

    def put(self, name, data):
        self._count()
        return super().put(name, data)

    def substore(self, directory):
        return StoppingStore(self.root / directory, self.left)

    def _count(self):
        self.left[0] -= 1
        if self.left[0] < 0:
            os._exit(9)


def _run(command, root, left, changes):
    store = StoppingStore(root, [left])
    with local_worker_pool(1) as pool:
        command(store, pool)
    changes.value = left - store.left[0]


def run_in_a_process(command, root, left):
    """Run `command`, a function of a store and a pool, in a process that ends before the change that comes after `left`.

    Return its exit code, and the number of its changes.
    """
    context = multiprocessing.get_context("spawn")
    changes = context.Value("q", 0)
    process = context.Process(target=_run, args=(command, root, left, changes))
    process.start()
    process.join()
    return process.exitcode, changes.value
