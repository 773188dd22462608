"""`ProjectDirectory`: a directory that reads an archive file which it lacks where the file's Manifest places it."""

from io import BufferedReader

from thresher.storage.directory_store import DirectoryStore
from thresher.storage.in_place.placed_file import PlacedFile, here_or_placed, placed_file


class ProjectDirectory(DirectoryStore):
    """A directory in which archive files may stand for files elsewhere. Nothing is written or deleted there."""

    __slots__ = ()

    def open(self, name: str) -> BufferedReader:
        """Open the object for reading. Raise `ChangedInPlace` if it lies elsewhere and is not as it was sealed."""
        return here_or_placed(self, name, super().open, PlacedFile.open)

    def read(self, name: str) -> bytes:
        """Return all bytes of an object."""
        return here_or_placed(self, name, super().read, PlacedFile.read)

    def stamp(self, name: str) -> str:
        """Return a text that changes if the object is replaced."""
        return here_or_placed(self, name, super().stamp, PlacedFile.stamp)

    def size(self, name: str) -> int:
        """Return the size of the object in bytes, as it is now."""
        return here_or_placed(self, name, super().size, PlacedFile.current_size)

    def exists(self, name: str) -> bool:
        """Return whether the object is there, or is sealed as one that lies elsewhere."""
        return super().exists(name) or placed_file(self, name) is not None
