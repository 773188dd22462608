"""`PlainStore`: a store that does not show its directory, like an object store, which has none."""

from contextlib import contextmanager
from dataclasses import dataclass

from thresher.storage.directory_store import DirectoryStore
from thresher.storage.store import Staged


@dataclass(frozen=True, slots=True)
class PlainStore:
    """Every method of a `Store`, and nothing else, over files."""

    files: DirectoryStore

    @property
    def uri(self):
        return f"plain:{self.files.root}"

    @contextmanager
    def stage(self, name):
        with self.files.stage(name) as staged:
            yield Staged(self, name, staged.path)

    def substore(self, directory):
        return PlainStore(self.files.substore(directory))

    def put(self, name, data):
        return self.files.put(name, data)

    def put_file(self, path, name):
        return self.files.put_file(path, name)

    def open(self, name):
        return self.files.open(name)

    def read(self, name):
        return self.files.read(name)

    def read_ranges(self, ranges):
        return self.files.read_ranges(ranges)

    def exists(self, name):
        return self.files.exists(name)

    def size(self, name):
        return self.files.size(name)

    def stamp(self, name):
        return self.files.stamp(name)

    def age_ms(self, name):
        return self.files.age_ms(name)

    def newest(self, directory, ending, most):
        return self.files.newest(directory, ending, most)

    def list(self, prefix=""):
        return self.files.list(prefix)

    def list_stamps(self, prefix=""):
        return self.files.list_stamps(prefix)

    def delete(self, name):
        self.files.delete(name)

    def clear(self):
        self.files.clear()

    def unavailable_since_ms(self):
        return self.files.unavailable_since_ms()

    def call_times(self):
        return self.files.call_times()

    def sweep(self):
        return self.files.sweep()
