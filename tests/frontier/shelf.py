"""Storage in memory for the tail of a frontier."""

from io import BufferedReader, BytesIO

from thresher.core import CorruptData


class Shelf:
    """Objects in memory, of which anything may be lost; all are of one age, in milliseconds."""

    def __init__(self, age=0):
        self.objects = {}
        self.age = age

    def put(self, name, data):
        return self.objects.setdefault(name, data) is data

    def open(self, name):
        if name not in self.objects:
            raise CorruptData(f"{name} is missing")
        return BufferedReader(BytesIO(self.objects[name]))

    def age_ms(self, _name):
        return self.age

    def list(self, prefix=""):
        return iter(sorted(name for name in self.objects if name.startswith(prefix)))

    def delete(self, name):
        self.objects.pop(name, None)
